import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.sql.BatchUpdateException;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.Arrays;
import java.util.List;
import java.util.StringJoiner;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.postgresql.copy.CopyManager;
import org.postgresql.largeobject.LargeObject;
import org.postgresql.largeobject.LargeObjectManager;

/** A session with the JDBC driver in many of its modes; what it prints must not depend on the server it talks to. */
final class Session {
    private static final List<String> MODES = List.of(
            "",
            "preferQueryMode=simple",
            "preferQueryMode=extended",
            "preferQueryMode=extendedForPrepared",
            "preferQueryMode=extendedCacheEverything",
            "prepareThreshold=1",
            "prepareThreshold=0",
            "prepareThreshold=-1",
            "prepareThreshold=1&binaryTransfer=false",
            "autosave=always",
            "autosave=conservative&prepareThreshold=1",
            "reWriteBatchedInserts=true",
            "defaultRowFetchSize=3");

    private interface Part {
        void run(Connection connection) throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        String url = arguments[0];
        for (String mode : MODES) {
            System.out.println("== " + mode);
            try (Connection connection = DriverManager.getConnection(url + "&" + mode)) {
                for (Part part : List.<Part>of(
                        Session::prepared, Session::portals, Session::batches, Session::transactions,
                        Session::refusals, Session::several, Session::scrolling, Session::calls,
                        Session::copies, Session::notifications)) {
                    connection.setAutoCommit(true);
                    part.run(connection);
                }
            }
        }
        try (Connection connection = DriverManager.getConnection(url)) {
            metadata(connection);
            cancelled(connection);
            largeObject(connection);
        }
    }

    private static void show(String name, Object value) {
        System.out.println(name + ": " + value);
    }

    private static void update(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate(sql);
        }
    }

    private static String rows(ResultSet result) throws SQLException {
        StringJoiner lines = new StringJoiner("; ");
        int columns = result.getMetaData().getColumnCount();
        while (result.next()) {
            StringJoiner line = new StringJoiner(", ");
            for (int n = 1; n <= columns; n++) {
                boolean isBytes = result.getMetaData().getColumnType(n) == Types.BINARY;
                line.add(isBytes ? Arrays.toString(result.getBytes(n)) : result.getString(n));
            }
            lines.add(line.toString());
        }
        return lines.toString();
    }

    private static String query(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet result = statement.executeQuery(sql)) {
            return rows(result);
        }
    }

    private static void refused(String name, Connection connection, String sql) {
        try {
            show(name, query(connection, sql));
        } catch (SQLException refusal) {
            show(name, refusal.getSQLState() + " " + refusal.getMessage());
        }
    }

    private static void prepared(Connection connection) throws SQLException {
        String sql = "select ?::int + 1, ?::numeric, ?::text, ?::timestamptz, decode(?, 'hex'), ?::int[], ?::float8, ?::bool";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            describe(statement);
            for (int turn = 0; turn < 8; turn++) {
                statement.setInt(1, turn);
                statement.setBigDecimal(2, new BigDecimal("12345.6789"));
                statement.setString(3, turn == 3 ? null : "it's ? \\ ü");
                statement.setTimestamp(4, new Timestamp(0));
                statement.setString(5, "0001ff");
                statement.setArray(6, connection.createArrayOf("int4", new Integer[] {1, null, turn}));
                statement.setDouble(7, 1.0 / 3);
                statement.setBoolean(8, turn % 2 == 0);
                try (ResultSet result = statement.executeQuery()) {
                    show("turn", rows(result));
                }
            }
        }
    }

    private static void describe(PreparedStatement statement) {
        try {
            show("parameters", statement.getParameterMetaData().getParameterCount());
            ResultSetMetaData described = statement.getMetaData();
            for (int n = 1; n <= described.getColumnCount(); n++) {
                show("column", described.getColumnName(n) + " " + described.getColumnTypeName(n));
            }
        } catch (SQLException refusal) {
            show("cannot describe", refusal.getSQLState() + " " + refusal.getMessage());
        }
    }

    private static void portals(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement(); Statement other = connection.createStatement()) {
            statement.setFetchSize(7);
            ResultSet result = statement.executeQuery("select n, repeat('x', n % 5) from generate_series(1, 1000) n");
            long total = 0;
            while (result.next()) {
                total += result.getInt(1) + result.getString(2).length();
                if (result.getInt(1) % 100 == 0) {
                    total += other.executeUpdate("create temp table if not exists between_pieces (n int)");
                }
            }
            show("pieces", total);
            statement.setMaxRows(5);
            show("limited", rows(statement.executeQuery("select generate_series(1, 1000)")));
        }
        connection.commit();
    }

    private static void batches(Connection connection) throws SQLException {
        update(connection, "create temp table batch (n int primary key, t text)");
        try (PreparedStatement statement = connection.prepareStatement("insert into batch values (?, ?)")) {
            for (int n = 0; n < 1000; n++) {
                statement.setInt(1, n);
                statement.setString(2, "row " + n);
                statement.addBatch();
            }
            statement.executeBatch();
            show("batch", query(connection, "select count(*), min(t), max(t) from batch"));
            for (int n : new int[] {2000, 5, 2001}) {
                statement.setInt(1, n);
                statement.setString(2, "again");
                statement.addBatch();
            }
            statement.executeBatch();
            show("batch", "no conflict");
        } catch (BatchUpdateException conflict) {
            show("conflict", conflict.getSQLState() + " " + Arrays.toString(conflict.getUpdateCounts()));
        }
        show("after the conflict", query(connection, "select count(*) from batch where n >= 2000"));
        String insert = "insert into batch values (3000, 'keys'), (3001, 'keys')";
        try (PreparedStatement statement = connection.prepareStatement(insert, Statement.RETURN_GENERATED_KEYS)) {
            show("inserted", statement.executeUpdate());
            show("generated", rows(statement.getGeneratedKeys()));
        }
        update(connection, "drop table batch");
    }

    private static void transactions(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
        show("isolation", query(connection, "show transaction_isolation"));
        update(connection, "create temp table kept (n int) on commit drop");
        Savepoint savepoint = connection.setSavepoint("here");
        update(connection, "insert into kept values (1)");
        connection.rollback(savepoint);
        update(connection, "insert into kept values (2)");
        show("kept", query(connection, "table kept"));
        connection.commit();
        connection.setReadOnly(true);
        refused("read only", connection, "create table never (n int)");
        connection.rollback();
        connection.setReadOnly(false);
        connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
        show("valid", connection.isValid(10));
    }

    private static void refusals(Connection connection) throws SQLException {
        refused("syntax", connection, "select 1 frm nowhere where");
        connection.setAutoCommit(false);
        update(connection, "create temp table errors (n int)");
        for (int n = 0; n < 3; n++) {
            refused("division", connection, "select 1/0");
            refused("after it", connection, "select " + n);
        }
        connection.rollback();
        refused("rolled back", connection, "select 'usable'");
        connection.rollback();
        connection.setAutoCommit(true);
        update(connection, "create temp table changing (n int)");
        try (PreparedStatement statement = connection.prepareStatement("select * from changing where n > ?")) {
            for (int n = 0; n < 7; n++) {
                statement.setInt(1, n);
                show("columns", statement.executeQuery().getMetaData().getColumnCount());
            }
            update(connection, "alter table changing add column m int");
            show("columns", statement.executeQuery().getMetaData().getColumnCount());
        } catch (SQLException refusal) {
            show("changed", refusal.getSQLState() + " " + refusal.getMessage());
        }
        update(connection, "drop table changing");
    }

    private static void several(Connection connection) throws SQLException {
        update(connection, "create temp table few (n int)");
        String sql = "insert into few values (1), (2); select * from few; delete from few where n = 1; truncate few";
        try (Statement statement = connection.createStatement()) {
            boolean isRows = statement.execute(sql);
            while (isRows || statement.getUpdateCount() != -1) {
                show("of several", isRows ? rows(statement.getResultSet()) : statement.getUpdateCount());
                isRows = statement.getMoreResults();
            }
            statement.execute("do $$ begin raise notice 'one'; raise warning 'two'; end $$");
            for (SQLWarning warning = statement.getWarnings(); warning != null; warning = warning.getNextWarning()) {
                show("warning", warning.getSQLState() + " " + warning.getMessage());
            }
        }
        update(connection, "drop table few");
    }

    private static void scrolling(Connection connection) throws SQLException {
        update(connection, "create temp table scrolled (n int primary key, t text)");
        update(connection, "insert into scrolled select n, 'row ' || n from generate_series(1, 20) n");
        try (Statement statement = connection.createStatement(
                ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
            ResultSet result = statement.executeQuery("select n, t from scrolled order by n");
            result.absolute(15);
            result.updateString(2, "changed");
            result.updateRow();
            result.relative(-10);
            show("relative", result.getString(2));
            result.last();
            result.deleteRow();
        }
        show("scrolled", query(connection, "select count(*), max(t) from scrolled"));
        update(connection, "drop table scrolled");
    }

    private static void calls(Connection connection) throws SQLException {
        update(connection, "create function pg_temp.twice(n int) returns int language sql as 'select 2 * n'");
        try (CallableStatement call = connection.prepareCall("{? = call pg_temp.twice(?)}")) {
            call.registerOutParameter(1, Types.INTEGER);
            call.setInt(2, 21);
            call.execute();
            show("called", call.getInt(1));
        } catch (SQLException refusal) {
            show("cannot call", refusal.getSQLState() + " " + refusal.getMessage());
        }
        update(connection, "drop function pg_temp.twice");
    }

    private static void copies(Connection connection) throws Exception {
        CopyManager copies = connection.unwrap(PGConnection.class).getCopyAPI();
        update(connection, "create temp table copied (n int, t text)");
        StringBuilder lines = new StringBuilder();
        for (int n = 0; n < 20_000; n++) {
            lines.append(n).append("\tline ").append(n).append('\n');
        }
        show("copied in", copies.copyIn("copy copied from stdin", new StringReader(lines.toString())));
        StringWriter written = new StringWriter();
        show("copied out", copies.copyOut("copy copied to stdout", written));
        show("equal", written.toString().contentEquals(lines));
        try {
            copies.copyIn("copy copied from stdin", new StringReader("1\tone\nbad\n" + lines));
        } catch (SQLException refusal) {
            show("copy refused", refusal.getSQLState() + " " + refusal.getMessage());
        }
        show("after it", query(connection, "select count(*) from copied"));
        update(connection, "drop table copied");
    }

    private static void notifications(Connection connection) throws SQLException {
        update(connection, "listen news");
        update(connection, "notify news, 'payload'");
        show("usable", query(connection, "select 1"));
        for (PGNotification heard : connection.unwrap(PGConnection.class).getNotifications()) {
            show("heard", heard.getName() + " " + heard.getParameter());
        }
        update(connection, "unlisten news");
    }

    private static void metadata(Connection connection) throws SQLException {
        update(connection, "create schema jdbc");
        try {
            update(connection, "create table jdbc.parent (id serial primary key, name varchar(10) not null default 'x')");
            update(connection, "create table jdbc.child (n numeric(10, 2), parent int references jdbc.parent on delete cascade)");
            update(connection, "create index by_n on jdbc.child (n desc)");
            update(connection, "create view jdbc.seen as select * from jdbc.parent");
            update(connection, "create function jdbc.f(a int, out b text) language sql as 'select a::text'");
            update(connection, "comment on column jdbc.child.n is 'a comment'");
            DatabaseMetaData metadata = connection.getMetaData();
            show("product", metadata.getDatabaseProductName() + " " + metadata.getDatabaseProductVersion());
            show("schemas", rows(metadata.getSchemas()));
            show("tables", rows(metadata.getTables(null, "jdbc", "%", null)));
            show("columns", rows(metadata.getColumns(null, "jdbc", "%", "%")));
            show("primary", rows(metadata.getPrimaryKeys(null, "jdbc", "parent")));
            show("imported", rows(metadata.getImportedKeys(null, "jdbc", "child")));
            show("exported", rows(metadata.getExportedKeys(null, "jdbc", "parent")));
            show("indexes", rows(metadata.getIndexInfo(null, "jdbc", "child", false, false)));
            show("functions", rows(metadata.getFunctionColumns(null, "jdbc", "f", "%")).replaceAll("f_[0-9]+", "f"));
            show("privileges", rows(metadata.getTablePrivileges(null, "jdbc", "%")));
            show("best row", rows(metadata.getBestRowIdentifier(null, "jdbc", "parent", 0, false)));
            show("types", rows(metadata.getTypeInfo()).length() > 1000);
        } finally {
            update(connection, "drop schema jdbc cascade");
        }
    }

    private static void cancelled(Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
            statement.setQueryTimeout(1);
            refusedSleep("timed out", statement);
            statement.setQueryTimeout(0);
            Thread canceller = new Thread(() -> cancelWhenBusy(connection, statement));
            canceller.start();
            refusedSleep("cancelled", statement);
            canceller.join();
        }
        show("usable", query(connection, "select 1"));
    }

    private static void refusedSleep(String name, Statement statement) {
        try {
            statement.execute("select pg_sleep(600)");
        } catch (SQLException refusal) {
            show(name, refusal.getSQLState() + " " + refusal.getMessage());
        }
    }

    private static void cancelWhenBusy(Connection connection, Statement statement) {
        try (Connection watcher = DriverManager.getConnection(System.getProperty("watcher"))) {
            int pid = connection.unwrap(PGConnection.class).getBackendPID();
            String sql = "select count(*) from pg_stat_activity where wait_event = 'PgSleep' and pid = " + pid;
            while (query(watcher, sql).equals("0")) {
                Thread.sleep(10);
            }
            statement.cancel();
        } catch (SQLException | InterruptedException failure) {
            throw new IllegalStateException(failure);
        }
    }

    private static void largeObject(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        LargeObjectManager manager = connection.unwrap(PGConnection.class).getLargeObjectAPI();
        long oid = manager.createLO();
        byte[] content = new byte[1_000_000];
        Arrays.fill(content, (byte) 7);
        try (LargeObject object = manager.open(oid, LargeObjectManager.READWRITE)) {
            object.write(content);
            object.seek(0);
            show("large object", Arrays.equals(content, object.read(content.length)) + " " + object.size());
        }
        manager.delete(oid);
        connection.commit();
    }
}
