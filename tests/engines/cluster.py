"""A Spark standalone cluster on the loopback address: a master and two workers, each a process of its own."""

import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.request

WORKERS = 2
# Processes that live for minutes: what is compiled thoroughly never pays off.
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def ask(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.load(answer)


def wait_for(what, find, seconds=300):
    """What `find` gives, as soon as it is something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            found = find()
        except OSError:
            found = None
        if found:
            return found
        time.sleep(0.5)
    sys.exit(f"after {seconds} s there is no {what}")


class Cluster:
    """Starts with the block it is used in, and ends with it."""

    def __init__(self, folder, port):
        import pyspark

        self.folder = pathlib.Path(folder)
        self.home = pathlib.Path(pyspark.__file__).parent
        self.master = f"spark://127.0.0.1:{port}"
        self.page = f"http://127.0.0.1:{port + 1}"
        self.port = port
        self.processes = []

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()

    def _start(self):
        self._run("master.Master", "--port", self.port, "--webui-port", self.port + 1)
        wait_for("Spark master", lambda: ask(f"{self.page}/json/"))
        for number in range(WORKERS):
            self._run(
                "worker.Worker", "--webui-port", self.port + 2 + number, "--cores", 1, "--memory", "1g",
                "--work-dir", self.folder / f"worker-{number}", self.master,
            )
        wait_for("two Spark workers", lambda: len(self.workers()) == WORKERS)

    def _run(self, what, *arguments):
        log = open(self.folder / f"spark-{len(self.processes)}.log", "wb")
        command = [self.home / "bin/spark-class", f"org.apache.spark.deploy.{what}", "--host", "127.0.0.1"]
        settings = {
            "SPARK_HOME": str(self.home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self.folder),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED,
        }
        self.processes.append(subprocess.Popen(
            list(map(str, command + list(arguments))),
            cwd=self.folder, env={**os.environ, **settings}, stdout=log, stderr=subprocess.STDOUT,
        ))

    def workers(self):
        """The workers that the master has, alive."""
        return [worker for worker in ask(f"{self.page}/json/")["workers"] if worker["state"] == "ALIVE"]

    def tasks_by_worker(self, application, application_page):
        """How many tasks of an application each worker has done: which worker started which executor from the workers'
        own pages, the tasks of the executors from the application's."""
        executors = ask(f"{application_page}/api/v1/applications/{application}/executors")
        done = {executor["id"]: executor["completedTasks"] for executor in executors}
        tasks = {}
        for worker in self.workers():
            of_worker = ask(f"{worker['webuiaddress']}/json/")["executors"]
            tasks[worker["id"]] = sum(
                done.get(str(executor["id"]), 0)
                for executor in of_worker
                if executor["appid"] == application
            )
        return tasks
