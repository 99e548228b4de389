import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;

/** SHOW of one setting with the JDBC driver, in every way that it can send it. */
final class Show {
    private static final List<String> MODES = List.of(
            "",
            "preferQueryMode=simple",
            "preferQueryMode=extendedForPrepared",
            "preferQueryMode=extendedCacheEverything",
            "prepareThreshold=1",
            "prepareThreshold=-1",
            "autosave=always",
            "autosave=conservative",
            "defaultRowFetchSize=1");

    public static void main(String[] arguments) throws SQLException {
        String setting = arguments[1];
        for (String mode : MODES) {
            System.out.println("== " + mode);
            try (Connection connection = DriverManager.getConnection(arguments[0] + "&" + mode)) {
                shown(connection, setting);
                connection.setAutoCommit(false);
                shown(connection, setting);
                failed(connection, setting);
                connection.rollback();
                shown(connection, setting);
                connection.commit();
            }
        }
    }

    private static void shown(Connection connection, String setting) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            System.out.println("statement " + result(statement.executeQuery("SHOW " + setting)));
            boolean isRows = statement.execute("select 1; show /* ; */ " + setting + "; select 'show " + setting + "'");
            while (isRows || statement.getUpdateCount() != -1) {
                System.out.println("of several " + (isRows ? result(statement.getResultSet()) : statement.getUpdateCount()));
                isRows = statement.getMoreResults();
            }
        }
        try (PreparedStatement statement = connection.prepareStatement("show " + setting)) {
            for (int turn = 0; turn < 7; turn++) {
                System.out.println("prepared " + result(statement.executeQuery()));
            }
            ResultSetMetaData described = statement.getMetaData();
            System.out.println("described " + described.getColumnName(1) + " " + described.getColumnTypeName(1));
        }
    }

    private static void failed(Connection connection, String setting) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : List.of("select 1/0", "show " + setting)) {
                try {
                    System.out.println("after an error " + result(statement.executeQuery(sql)));
                } catch (SQLException refusal) {
                    System.out.println("after an error " + refusal.getSQLState() + " " + refusal.getMessage());
                }
            }
        }
    }

    private static String result(ResultSet result) throws SQLException {
        ResultSetMetaData described = result.getMetaData();
        StringBuilder text = new StringBuilder();
        text.append(described.getColumnCount()).append(' ').append(described.getColumnName(1));
        while (result.next()) {
            text.append(" = ").append(result.getString(1));
        }
        return text.toString();
    }
}
