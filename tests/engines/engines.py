"""The engines that read a lake. Each declares the views of the lake's folder and gives the rows of a statement, as
Python's own numbers and texts. An engine that is not installed ends the program."""

import json
import os
import sqlite3

from cluster import SHORT_LIVED


def statements(path):
    """The statements of a file of views."""
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file if not line.startswith("--")]
    return [statement.strip() for statement in "".join(lines).split(";\n") if statement.strip()]


class Sqlite:
    """What the others are held against."""

    name = "sqlite"

    def __init__(self, database):
        self.connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)

    def rows(self, statement):
        return self.connection.execute(statement).fetchall()


class DuckDb:
    name = "duckdb"

    def __init__(self, lake):
        import duckdb

        self.connection = duckdb.connect()
        self.connection.execute(f"set file_search_path = '{lake}'")
        for statement in statements(lake / "views/duckdb.sql"):
            self.connection.execute(statement)

    def rows(self, statement):
        return self.connection.execute(statement).fetchall()

    def types(self, table):
        return {row[0]: row[1] for row in self.rows(f"describe {table}")}


class ClickHouse:
    name = "clickhouse"

    def __init__(self, lake):
        from chdb import session

        self.lake = lake
        self.session = session.Session()
        self.rows("create database lake")
        self.rows("use lake")
        for statement in statements(lake / "views/clickhouse.sql"):
            self.rows(statement)

    def rows(self, statement):
        # It finds files from the folder that it is asked in.
        before = os.getcwd()
        os.chdir(self.lake)
        try:
            answer = str(self.session.query(statement, "JSONCompactEachRowWithNamesAndTypes"))
        finally:
            os.chdir(before)
        if not answer:
            return []
        # A line of names and one of types stand before the rows. JSON writes 1.0 as 1.
        _, types, *rows = map(json.loads, answer.splitlines())
        kinds = [float if "Float" in kind else None for kind in types]
        return [
            tuple(kind(cell) if kind and cell is not None else cell for kind, cell in zip(kinds, row)) for row in rows
        ]

    def types(self, table):
        return {row[0]: row[1] for row in self.rows(f"describe table {table}")}


class Spark:
    name = "spark"

    def __init__(self, lake, cluster):
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        from pyspark.sql import SparkSession

        settings = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.extraJavaOptions": SHORT_LIVED,
            "spark.executor.extraJavaOptions": SHORT_LIVED,
            "spark.executor.memory": "768m",
            "spark.executor.cores": "1",
            "spark.local.dir": str(cluster.folder),
            "spark.sql.warehouse.dir": str(cluster.folder / "warehouse"),
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.session.timeZone": "UTC",
            "spark.ui.showConsoleProgress": "false",
        }
        builder = SparkSession.builder.master(cluster.master).appName("the canned questions")
        for name, value in settings.items():
            builder = builder.config(name, value)
        self.session = builder.getOrCreate()
        self.session.sparkContext.setLogLevel("ERROR")
        for statement in statements(lake / "views/spark.sql"):
            if statement.startswith("set narwhal.lake"):
                statement = f"set narwhal.lake = {lake}"
            self.session.sql(statement)

    def rows(self, statement):
        return [tuple(row) for row in self.session.sql(statement.strip().removesuffix(";")).collect()]

    def types(self, table):
        return dict(self.session.table(table).dtypes)

    def application(self):
        """The name of the application in the cluster, and its page."""
        context = self.session.sparkContext
        return context.applicationId, context.uiWebUrl

    def end(self):
        self.session.stop()
