# Added to the recipe of docs/guides/query.md: every row of every view as a line of JSON, and how many machines there were.
import datetime, json


def shown(value):
    return value.isoformat() + "Z" if isinstance(value, datetime.datetime) else value


for name in [*views, "changes"]:
    for row in spark.table(name).collect():
        print("row", json.dumps([name, {key: shown(value) for key, value in row.asDict().items()}]))
print("executors", spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1)
spark.stop()
