import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Attempt } from './canonical.ts'

/** Which of the signatures hold, by the command `openssl`; what was proven once is remembered. */
export interface Openssl {
  readonly verify: (attempts: readonly Attempt[]) => Promise<ReadonlyMap<Attempt, boolean>>
}

/** Two at a time: a process for each RSA signature is most of what the checker costs. */
const SIDE_BY_SIDE = 2

export function createOpenssl(): Openssl {
  const known = new Map<string, boolean>()
  return {
    verify: async (attempts) => {
      const names = new Map(attempts.map((attempt) => [attempt, nameOf(attempt)]))
      const open = new Map(attempts.map((attempt) => [names.get(attempt) ?? '', attempt]))
      for (const name of known.keys()) open.delete(name)
      for (const [name, isRight] of await verifyAll(open)) known.set(name, isRight)
      return new Map(attempts.map((attempt) => [attempt, known.get(names.get(attempt) ?? '') === true]))
    },
  }
}

function nameOf(attempt: Attempt): string {
  const hash = createHash('sha256').update(attempt.kind).update(attempt.message)
  if (attempt.kind === 'hmac') hash.update(attempt.hexKey).update(attempt.expected)
  else hash.update(attempt.publicPem).update(attempt.signature)
  return hash.digest('hex')
}

async function verifyAll(open: ReadonlyMap<string, Attempt>): Promise<Map<string, boolean>> {
  if (open.size === 0) return new Map()
  const dir = mkdtempSync(join(tmpdir(), 'signatures-'))
  try {
    const keys = new Map<string, string>()
    const lines = [...open].map(([name, attempt]) => {
      const file = join(dir, name)
      writeFileSync(`${file}.msg`, attempt.message)
      if (attempt.kind === 'hmac')
        return `[ "$(openssl dgst -sha256 -mac HMAC -macopt hexkey:${attempt.hexKey} -r ${file}.msg | cut -c1-64)" = ${attempt.expected.replaceAll(/\W/g, '')} ] && echo ${name}`
      writeFileSync(`${file}.sig`, attempt.signature)
      const key = keys.get(attempt.publicPem) ?? join(dir, `key-${keys.size}.pem`)
      if (!keys.has(attempt.publicPem)) writeFileSync(key, pemOf(attempt.publicPem))
      keys.set(attempt.publicPem, key)
      return attempt.kind === 'rsa'
        ? `openssl dgst -sha256 -verify ${key} -signature ${file}.sig ${file}.msg >/dev/null 2>&1 && echo ${name}`
        : `openssl pkeyutl -verify -rawin -pubin -inkey ${key} -sigfile ${file}.sig -in ${file}.msg >/dev/null 2>&1 && echo ${name}`
    })
    const parts = Array.from({ length: SIDE_BY_SIDE }, (_, part) =>
      lines.filter((_line, n) => n % SIDE_BY_SIDE === part),
    )
    const proven = new Set((await Promise.all(parts.map((part) => shell(part.join('\n'))))).flat())
    return new Map([...open.keys()].map((name) => [name, proven.has(name)]))
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

const pemOf = (key: string) =>
  key.startsWith('-----') ? key : `-----BEGIN PUBLIC KEY-----\n${key}\n-----END PUBLIC KEY-----\n`

/** Runs lines of a shell; one that fails does not end it. @returns what was printed, by line */
function shell(script: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const child = spawn('sh', { stdio: ['pipe', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.once('error', reject)
    child.once('close', () => resolve(output.split('\n')))
    child.stdin.end(`${script}\n`)
  })
}
