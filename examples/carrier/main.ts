// A carrier of one's own to try things with: `PORT=8090 node examples/carrier/main.ts`
import { startCarrier } from './carrier.ts'

const carrier = await startCarrier(Number(process.env['PORT'] ?? 8_090))
console.log(`carrier listens at ${carrier.url}`)
for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, () => void carrier.close().then(() => process.exit(0)))
