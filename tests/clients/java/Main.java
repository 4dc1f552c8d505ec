// What a user of ClickHouse's JDBC driver does in a day, against one server. Each check prints a line: "ok NAME", or "FAILED NAME: why".
// Argument: the HTTP port. The driver is whichever is in the class path.

import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Connection;
import java.sql.Date;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class Main {
    interface Check {
        void run() throws Exception;
    }

    static boolean failed = false;
    static String url;
    static boolean isOld;

    static void check(String name, Check check) {
        try {
            check.run();
            System.out.println("ok " + name);
        } catch (Throwable error) {
            failed = true;
            Throwable cause = error;
            String text = String.valueOf(error);
            while (cause.getCause() != null && cause.getCause() != cause) {
                cause = cause.getCause();
                text += " <- " + cause;
            }
            System.out.println("FAILED " + name + ": " + text.replace('\n', ' ').substring(0, Math.min(text.length(), 400)));
        }
    }

    static void same(Object got, Object want) {
        if (!String.valueOf(got).equals(String.valueOf(want))) {
            throw new AssertionError("got " + got + ", not " + want);
        }
    }

    static Connection connect(String... properties) throws SQLException {
        Properties all = new Properties();
        all.setProperty("user", "default");
        all.setProperty("password", "");
        for (int i = 0; i < properties.length; i += 2) {
            all.setProperty(properties[i], properties[i + 1]);
        }
        return DriverManager.getConnection(url, all);
    }

    static List<List<Object>> rows(ResultSet found) throws SQLException {
        List<List<Object>> rows = new ArrayList<>();
        int columns = found.getMetaData().getColumnCount();
        while (found.next()) {
            List<Object> row = new ArrayList<>();
            for (int column = 1; column <= columns; column++) {
                row.add(found.getObject(column));
            }
            rows.add(row);
        }
        found.close();
        return rows;
    }

    static String value(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet found = statement.executeQuery(sql)) {
            found.next();
            return found.getString(1);
        }
    }

    static void execute(Connection connection, String... statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    static void refused(int code, Check check) throws Exception {
        try {
            check.run();
        } catch (SQLException error) {
            if (error.getErrorCode() != code && !error.getMessage().contains("Code: " + code)) {
                throw error;
            }
            return;
        }
        throw new AssertionError("no error " + code);
    }

    static String plain(Object value) {
        if (value instanceof Object[] array) {
            return Arrays.deepToString(array);
        }
        if (value != null && value.getClass().isArray()) {
            List<Object> items = new ArrayList<>();
            for (int i = 0; i < java.lang.reflect.Array.getLength(value); i++) {
                items.add(java.lang.reflect.Array.get(value, i));
            }
            return items.toString();
        }
        return String.valueOf(value);
    }

    static void roundTrip(Connection connection, String type, Object written, String text) throws Exception {
        execute(connection, "CREATE OR REPLACE TABLE java_type (a " + type + ") ENGINE = Memory");
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO java_type VALUES (?)")) {
            for (int row = 0; row < 2; row++) {
                insert.setObject(1, written);
                insert.addBatch();
            }
            insert.executeBatch();
        }
        try (Statement statement = connection.createStatement();
             ResultSet found = statement.executeQuery("SELECT a, toString(a) FROM java_type")) {
            int count = 0;
            while (found.next()) {
                found.getObject(1);
                same(found.getString(2), text);
                count++;
            }
            same(count, 2);
        }
    }

    public static void main(String[] arguments) throws Exception {
        url = "jdbc:clickhouse://127.0.0.1:" + arguments[0] + "/default";
        Connection connection = connect();
        isOld = connection.getMetaData().getDriverVersion().contains("0.6");

        check("connect, ping, version", () -> {
            same(connection.isValid(5), true);
            DatabaseMetaData about = connection.getMetaData();
            same(about.getDatabaseProductName(), "ClickHouse");
            same(about.getDatabaseMajorVersion(), 26);
            same(about.getDatabaseProductVersion().startsWith("26."), true);
            same(value(connection, "SELECT 1"), "1");
        });

        check("rows in a stream", () -> {
            try (Statement statement = connection.createStatement();
                 ResultSet found = statement.executeQuery("SELECT number, toString(number) FROM numbers(500000)")) {
                long count = 0;
                while (found.next()) {
                    same(found.getString(2), found.getLong(1));
                    count++;
                }
                same(count, 500000);
            }
        });

        check("metadata of a result", () -> {
            try (Statement statement = connection.createStatement();
                 ResultSet found = statement.executeQuery("SELECT 1::UInt8 AS a, 'x' AS b, now() AS c, [1] AS d, NULL::Nullable(Int64) AS e, 1.5 AS f")) {
                ResultSetMetaData about = found.getMetaData();
                same(about.getColumnCount(), 6);
                same(about.getColumnLabel(2), "b");
                same(about.getColumnType(2), Types.VARCHAR);
                same(about.getColumnType(3), Types.TIMESTAMP);
                same(about.getColumnType(6), Types.DOUBLE);
                same(about.isNullable(5), ResultSetMetaData.columnNullable);
                same(about.getColumnTypeName(4), "Array(UInt8)");
            }
        });

        Object[][] types = {
            {"UInt8", 200, "200"}, {"Int16", (short) -5, "-5"}, {"UInt32", 4000000000L, "4000000000"}, {"Int64", -5L, "-5"},
            {"UInt64", new BigInteger("18446744073709551615"), "18446744073709551615"}, {"Float32", 1.5f, "1.5"}, {"Float64", -2.25, "-2.25"},
            {"Bool", true, "true"}, {"String", "it's\t\\ \u00e9", "it's\t\\ \u00e9"}, {"FixedString(3)", "abc", "abc"},
            {"Date", LocalDate.of(2024, 1, 2), "2024-01-02"}, {"Date32", LocalDate.of(1950, 1, 2), "1950-01-02"},
            {"DateTime", LocalDateTime.of(2024, 1, 2, 3, 4, 5), "2024-01-02 03:04:05"},
            {"DateTime64(3)", LocalDateTime.of(2024, 1, 2, 3, 4, 5, 123000000), "2024-01-02 03:04:05.123"},
            {"UUID", UUID.fromString("61f0c404-5cb3-11e7-907b-a6006ad3dba0"), "61f0c404-5cb3-11e7-907b-a6006ad3dba0"},
            {"IPv4", "1.2.3.4", "1.2.3.4"}, {"IPv6", "2001:db8::1", "2001:db8::1"},
            {"Enum8('a' = 1, 'b' = 2)", "b", "b"}, {"Decimal(18, 4)", new BigDecimal("1234.5678"), "1234.5678"},
            {"Decimal(38, 10)", new BigDecimal("-1.0000000001"), "-1.0000000001"}, {"Decimal(76, 20)", new BigDecimal("5.5"), "5.5"},
            {"Int128", new BigInteger("-170141183460469231731687303715884105728"), "-170141183460469231731687303715884105728"},
            {"UInt256", BigInteger.ONE.shiftLeft(255), BigInteger.ONE.shiftLeft(255).toString()},
            {"Array(UInt8)", new int[] {1, 2}, "[1,2]"}, {"Array(String)", new String[] {"a", "b'"}, "['a','b\\'']"},
            {"Map(String, UInt8)", java.util.Map.of("a", 1), "{'a':1}"}, {"Tuple(UInt8, String)", isOld ? List.of(1, "x") : "(1,'x')", "(1,'x')"},
            {"Nullable(String)", null, "null"}, {"LowCardinality(String)", "lc", "lc"},
        };
        for (Object[] type : types) {
            check("type " + type[0], () -> roundTrip(connection, (String) type[0], type[1], (String) type[2]));
        }

        check("values as Java has them", () -> {
            try (Statement statement = connection.createStatement();
                 ResultSet found = statement.executeQuery("SELECT toUInt8(200), -5::Int64, 1.5, 'x', toDate('2024-01-02'), toDateTime('2024-01-02 03:04:05', 'UTC'),"
                     + " [1, 2]::Array(UInt8), NULL::Nullable(String), true, map('a', 1), toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0'), (1, 'x')")) {
                found.next();
                same(found.getInt(1), 200);
                same(found.getLong(2), -5);
                same(found.getDouble(3), 1.5);
                same(found.getString("'x'"), "x");
                same(found.getDate(5), Date.valueOf("2024-01-02"));
                same(found.getTimestamp(6).toInstant(), "2024-01-02T03:04:05Z");
                same(plain(found.getArray(7).getArray()), "[1, 2]");
                same(found.getString(8), null);
                same(found.wasNull(), true);
                same(found.getBoolean(9), true);
                same(found.getObject(10), "{a=1}");
                same(found.getObject(11), "61f0c404-5cb3-11e7-907b-a6006ad3dba0");
            }
        });

        check("batches", () -> {
            execute(connection, "DROP TABLE IF EXISTS java_batch", "CREATE TABLE java_batch (a UInt32, b String, c Nullable(DateTime)) ENGINE = MergeTree ORDER BY a");
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO java_batch (a, b, c) VALUES (?, ?, ?)")) {
                for (int batch = 0; batch < 3; batch++) {
                    for (int row = 0; row < 5000; row++) {
                        insert.setInt(1, row);
                        insert.setString(2, "it's row " + row);
                        if (row % 2 == 0) {
                            insert.setNull(3, Types.TIMESTAMP);
                        } else {
                            insert.setTimestamp(3, Timestamp.valueOf("2024-01-02 03:04:05"));
                        }
                        insert.addBatch();
                    }
                    same(insert.executeBatch().length, 5000);
                }
            }
            same(value(connection, "SELECT concat(toString(count()), ' ', toString(sum(a)), ' ', toString(countIf(c IS NULL))) FROM java_batch"), "15000 37492500 7500");
            try (Statement statement = connection.createStatement()) {
                same(statement.executeUpdate("INSERT INTO java_batch (a, b) VALUES (1, 'x'), (2, 'y')") >= 0, true);
            }
        });

        check("prepared queries", () -> {
            try (PreparedStatement query = connection.prepareStatement("SELECT a, b FROM java_batch WHERE a = ? AND b = ? LIMIT 1")) {
                for (int row = 10; row < 13; row++) {
                    query.setInt(1, row);
                    query.setString(2, "it's row " + row);
                    same(rows(query.executeQuery()).size(), 1);
                }
            }
            try (PreparedStatement query = connection.prepareStatement("SELECT ? AS d, ? AS n, ? AS l")) {
                query.setDate(1, Date.valueOf("2024-01-02"));
                query.setNull(2, Types.VARCHAR);
                query.setDouble(3, 1.5);
                ResultSet found = query.executeQuery();
                found.next();
                same(found.getString(1), "2024-01-02");
                same(found.getString(2), null);
                same(found.getDouble(3), 1.5);
            }
        });

        check("update counts, alter, delete", () -> {
            execute(connection, "ALTER TABLE java_batch DELETE WHERE a > 100 SETTINGS mutations_sync = 2", "DELETE FROM java_batch WHERE a = 1");
            same(value(connection, "SELECT max(a) FROM java_batch"), "100");
            execute(connection, "ALTER TABLE java_batch ADD COLUMN d UInt8 DEFAULT 7", "ALTER TABLE java_batch UPDATE b = 'z' WHERE a = 5 SETTINGS mutations_sync = 2");
            same(value(connection, "SELECT any(b) FROM java_batch WHERE a = 5 AND d = 7"), "z");
        });

        check("getTables, getColumns, getSchemas and their kin", () -> {
            DatabaseMetaData about = connection.getMetaData();
            TreeSet<String> tables = new TreeSet<>();
            ResultSet found = about.getTables(null, "default", "java%", null);
            while (found.next()) {
                tables.add(found.getString("TABLE_NAME"));
            }
            same(tables.contains("java_batch"), true);
            found = about.getTables(null, "default", "java%", new String[] {"TABLE"});
            same(found.next(), true);
            found = about.getTables(null, "system", "%", new String[] {"SYSTEM TABLE", "TABLE", "VIEW"});
            same(found.next(), true);
            List<String> columns = new ArrayList<>();
            found = about.getColumns(null, "default", "java_batch", "%");
            while (found.next()) {
                columns.add(found.getString("COLUMN_NAME") + " " + found.getString("TYPE_NAME") + " " + found.getInt("NULLABLE"));
                found.getInt("DATA_TYPE");
                found.getInt("COLUMN_SIZE");
                found.getInt("DECIMAL_DIGITS");
                found.getString("REMARKS");
                found.getString("COLUMN_DEF");
            }
            same(columns.subList(0, 3), "[a UInt32 0, b String 0, c " + (columns.get(2).contains("Nullable") ? "Nullable(DateTime)" : "DateTime") + " 1]");
            TreeSet<String> schemas = new TreeSet<>();
            // The old driver's databases are catalogs.
            found = isOld ? about.getCatalogs() : about.getSchemas();
            while (found.next()) {
                schemas.add(found.getString(1));
            }
            same(schemas.contains("default") && schemas.contains("system"), true);
            rows(about.getCatalogs());
            rows(about.getTableTypes());
            rows(about.getTypeInfo());
            rows(about.getPrimaryKeys(null, "default", "java_batch"));
            rows(about.getIndexInfo(null, "default", "java_batch", false, false));
            rows(about.getFunctions(null, null, "to%"));
            rows(about.getClientInfoProperties());
            rows(about.getImportedKeys(null, "default", "java_batch"));
            rows(about.getProcedures(null, null, "%"));
            about.getNumericFunctions();
            about.getSQLKeywords();
        });

        check("errors", () -> {
            refused(60, () -> value(connection, "SELECT * FROM no_such_table"));
            refused(47, () -> value(connection, "SELECT nope"));
            refused(62, () -> execute(connection, "CREATE TABLE (("));
            refused(57, () -> execute(connection, "CREATE TABLE java_batch (a UInt8) ENGINE = Memory"));
            same(connection.isValid(5), true);
        });

        check("an error in mid-stream", () -> {
            try (Statement statement = connection.createStatement()) {
                long count = 0;
                ResultSet found = statement.executeQuery("SELECT throwIf(number = 3000000) FROM numbers(4000000)");
                while (found.next()) {
                    count++;
                }
                throw new AssertionError("no error after " + count + " rows");
            } catch (Exception error) {
                same(value(connection, "SELECT 1"), "1");
            }
        });

        check("cancel and timeout", () -> {
            try (Statement statement = connection.createStatement()) {
                statement.setQueryTimeout(1);
                statement.executeQuery("SELECT sum(sipHash64(number)) FROM numbers(1000000000000)").next();
                throw new AssertionError("it ended");
            } catch (SQLException expected) {
                same(value(connection, "SELECT 1"), "1");
            }
            Statement statement = connection.createStatement();
            Thread canceller = new Thread(() -> {
                try {
                    Thread.sleep(500);
                    statement.cancel();
                } catch (Exception error) {
                    System.out.println("cancel: " + error);
                }
            });
            canceller.start();
            try {
                statement.executeQuery("SELECT sum(sipHash64(number)) FROM numbers(1000000000000)").next();
                throw new AssertionError("it ended");
            } catch (Exception expected) {
                canceller.join();
            }
            same(value(connection, "SELECT 1"), "1");
        });

        check("many connections", () -> {
            ExecutorService workers = Executors.newFixedThreadPool(16);
            List<Future<String>> found = new ArrayList<>();
            for (int number = 0; number < 100; number++) {
                int mine = number;
                found.add(workers.submit((Callable<String>) () -> {
                    try (Connection own = connect()) {
                        return value(own, "SELECT " + mine);
                    }
                }));
            }
            for (int number = 0; number < 100; number++) {
                same(found.get(number).get(), number);
            }
            workers.shutdown();
        });

        check("without compression, and with compressed requests", () -> {
            try (Connection own = connect("compress", "0")) {
                same(value(own, "SELECT sum(number) FROM numbers(100000)"), "4999950000");
            }
            String[] decompress = isOld ? new String[] {"decompress", "1"} : new String[] {"decompress", "true"};
            try (Connection own = connect(decompress)) {
                roundTrip(own, "String", "text ".repeat(10000), "text ".repeat(10000));
            }
            if (!isOld) {
                try (Connection own = connect("client.use_http_compression", "true", "decompress", "true")) {
                    roundTrip(own, "String", "text ".repeat(10000), "text ".repeat(10000));
                }
            }
        });

        check("settings and databases", () -> {
            String name = isOld ? "custom_settings" : "clickhouse_setting_max_block_size";
            try (Connection own = connect(name, isOld ? "max_block_size=777" : "777")) {
                same(value(own, "SELECT value FROM system.settings WHERE name = 'max_block_size'"), "777");
                if (!isOld) {
                    own.setSchema("system");
                    same(own.getSchema(), "system");
                    same(value(own, "SELECT count() FROM one"), "1");
                }
            }
        });

        check("sessions and temporary tables", () -> {
            String session = UUID.randomUUID().toString();
            try (Connection own = connect(isOld ? "session_id" : "clickhouse_setting_session_id", session)) {
                execute(own, "CREATE TEMPORARY TABLE java_temporary (a UInt8)", "INSERT INTO java_temporary VALUES (1), (2)");
                same(value(own, "SELECT sum(a) FROM java_temporary"), "3");
            }
        });

        connection.close();
        System.exit(failed ? 1 : 0);
    }
}
