import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.List;

/** Makes and drops objects of a kind ("STANDING QUERY", "MATERIALIZED VIEW") in transactions, in the driver's many modes. */
final class Made {
    private static final List<String> MODES = List.of(
            "", "preferQueryMode=simple", "preferQueryMode=extendedCacheEverything", "prepareThreshold=1", "autosave=always");

    public static void main(String[] arguments) throws SQLException {
        String kind = arguments[1];
        for (String mode : MODES) {
            System.out.println("== " + mode);
            try (Connection connection = DriverManager.getConnection(arguments[0] + "&" + mode)) {
                run(connection, "CREATE " + kind + " made AS SELECT id, name FROM read_by_java WITH NO DATA");
                described(connection);
                connection.setAutoCommit(false);
                run(connection, "DROP " + kind + " made");
                connection.rollback();
                Savepoint savepoint = connection.setSavepoint();
                run(connection, "CREATE " + kind + " made AS SELECT 1 AS a");
                connection.rollback(savepoint);
                run(connection, "INSERT INTO read_by_java VALUES (1, 'x'); CREATE " + kind + " other AS SELECT nope FROM read_by_java");
                connection.rollback();
                run(connection, "DROP " + kind + " made; SELECT count(*) FROM read_by_java");
                connection.commit();
                repeated(connection, kind);
            }
        }
    }

    private static void repeated(Connection connection, String kind) throws SQLException {
        try (PreparedStatement create = connection.prepareStatement("CREATE " + kind + " again AS SELECT id FROM read_by_java WITH NO DATA");
                PreparedStatement drop = connection.prepareStatement("DROP " + kind + " IF EXISTS again")) {
            for (int turn = 0; turn < 6; turn++) {
                System.out.println("repeated " + create.executeUpdate() + " " + drop.executeUpdate());
                connection.commit();
            }
        }
    }

    private static void run(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            System.out.println(statement.execute(sql) + " " + statement.getUpdateCount());
        } catch (SQLException refusal) {
            System.out.println(refusal.getSQLState() + " " + refusal.getMessage().lines().findFirst().orElse(""));
        }
    }

    private static void described(Connection connection) throws SQLException {
        try (ResultSet columns = connection.getMetaData().getColumns(null, "public", "made", null)) {
            while (columns.next()) {
                System.out.println(columns.getString("COLUMN_NAME") + " " + columns.getString("TYPE_NAME") + " " + columns.getInt("COLUMN_SIZE"));
            }
        }
    }
}
