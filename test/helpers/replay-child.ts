/** Sends the replays of run `RUN_ID` and dies at `CRASH_AT`, on the `CRASH_PASSAGE`-th passage. */
import { kafkaSettings } from '../../src/runtime/kafka/connection.ts'
import { createPlainProducer } from '../../src/runtime/kafka/plain-producer.ts'
import { createLog } from '../../src/runtime/log.ts'
import { createPool } from '../../src/runtime/postgres.ts'
import { INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { sendReplays } from '../../src/store/send-replays.ts'
import { readProcessorConfig } from '../../src/processor/config.ts'

const { CRASH_AT, RUN_ID, CRASH_PASSAGE = '1' } = process.env
const config = readProcessorConfig(process.env)
const log = createLog('replay', 'error')
const topic = config.TOPIC_PREFIX + INPUT_TOPIC
const pool = createPool(config.DATABASE_URL, 'replay-child', log, 2)
const producer = await createPlainProducer(kafkaSettings(config), [topic], log)
let passages = 0
await sendReplays(pool, producer, {
  ...{ topic, runId: Number(RUN_ID) },
  reach: (point) => {
    if (point === CRASH_AT && ++passages === Number(CRASH_PASSAGE)) process.kill(process.pid, 'SIGKILL')
  },
})
await producer.close()
await pool.end()
