import { generateKeyPairSync, randomBytes, sign, verify } from 'node:crypto'

/** CPU of one bare RSA-2048/SHA-256 verification of a 1,287-byte message, in microseconds: the yardstick. */
export function rsaVerifyMicros(seconds: number): number {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const message = randomBytes(1_287)
  const signature = sign('RSA-SHA256', message, privateKey)
  for (let i = 0; i < 2_000; i++) verify('RSA-SHA256', message, publicKey, signature)
  let done = 0
  const before = process.cpuUsage()
  for (const endMs = performance.now() + seconds * 1_000; performance.now() < endMs; done += 100)
    for (let i = 0; i < 100; i++) verify('RSA-SHA256', message, publicKey, signature)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / done
}

// A process of its own, so that it shares no heap with what it is compared with: node bench/rsa-cpu.ts SECONDS
if (import.meta.main) console.log(JSON.stringify(rsaVerifyMicros(Number(process.argv[2] ?? 2))))
