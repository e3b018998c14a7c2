"""Runs SQL on Flink: started by Flink's own Python, it takes a request per line and answers with a line each."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment


def main() -> None:
    # What Java prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        answers.write(json.dumps(_answer(json.loads(line))) + "\n")
        answers.flush()


def _answer(asked: dict[str, Any]) -> dict[str, float]:
    """The seconds that the last statement, an INSERT, took as a job: from its submission to its end, as Flink says."""
    configuration = Configuration()
    for name, value in asked["settings"].items():
        configuration.set_string(name, value)
    tables = TableEnvironment.create(
        EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(configuration).build()
    )
    *others, insert = asked["statements"]
    for statement in others:
        tables.execute_sql(statement)
    job = tables.execute_sql(insert).get_job_client()
    return {"seconds": job.get_job_execution_result().result().get_net_runtime() / 1000}


if __name__ == "__main__":
    main()
