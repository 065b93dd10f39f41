import { readFileSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { z } from 'zod'

/** Decimal digits only: `Number` alone would also take ' ', 0x10 and 1e3. Add `.default(…)` or `.optional()`. */
export const integer = (min: number, max: number) =>
  z
    .string()
    .refine(
      (text) => /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max,
      `must be an integer from ${min} to ${max}, in decimal digits`,
    )
    .transform(Number)

/** 0 to 1: `0.25`. */
export const share = z
  .string()
  .refine((text) => /^\d+(\.\d+)?$/.test(text) && Number(text) <= 1, 'must be a decimal number from 0 to 1')
  .transform(Number)

export const flag = z
  .enum(['0', '1'])
  .default('0')
  .transform((text) => text === '1')

/** `host:port` with commas between them; an IPv6 address stands in brackets. */
export const brokers = z
  .string()
  .transform((text) => text.split(',').map((item) => item.trim()))
  .superRefine((items, context) => {
    // The item itself is not shown: somebody may have put a password there.
    const at = items.findIndex((item) => !isBroker(item))
    if (at < 0) return
    const message = `must be host:port, with commas between them ([host]:port for IPv6, ports 1 to 65535); no. ${at + 1} is not`
    context.addIssue({ code: 'custom', message })
  })

function isBroker(text: string): boolean {
  const [, ipv6, name, port] = /^(?:\[(.+)\]|([A-Za-z0-9_.-]+)):(\d{1,5})$/.exec(text) ?? []
  if (Number(port) < 1 || Number(port) > 65_535) return false
  return ipv6 === undefined ? name !== undefined : isIPv6(ipv6) && !ipv6.includes('%')
}

/** May hold `user:password@`, percent-encoded. */
export const httpUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https address' })
  .refine((text) => isDecodable(credentialsOf(text)), 'must have its user and password percent-encoded (% is %25)')

/** node-postgres takes a lone % as it is, but throws a bare URIError for bytes that are no UTF-8. */
export const postgresUrl = z
  .url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres://user:password@host:port/database address' })
  .refine(
    (text) => isDecodable(credentialsOf(text).replace(/%(?![0-9a-f]{2})/gi, '%25')),
    'must have its user and password percent-encoded as UTF-8',
  )

  .superRefine((text, context) => {
    const wanted = URL.parse(text)?.searchParams
    for (const name of ['sslrootcert', 'sslcert', 'sslkey']) {
      const file = wanted?.get(name)
      const code = file ? whyUnreadable(file) : undefined
      const message = `names a file in ${name} that cannot be read (${code}): ${file}`
      if (code !== undefined) context.addIssue({ code: 'custom', message })
    }
  })

/** One server, `rediss` over TLS; the path may be the number of a database. */
export const redisUrl = z
  .url({ protocol: /^rediss?$/, error: 'must be a redis://user:password@host:port or rediss:// address' })
  .refine((text) => isDecodable(credentialsOf(text)), 'must have its user and password percent-encoded (% is %25)')
  .refine((text) => URL.parse(text)?.hostname !== '', 'must name a host')
  .refine(
    (text) => /^(\/\d{0,5})?$/.test(URL.parse(text)?.pathname ?? ''),
    'must end in the number of a database or nothing',
  )

/** node-postgres reads the file when it connects, and throws where nobody expects it. */
function whyUnreadable(file: string): string | undefined {
  try {
    readFileSync(file)
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error)
  }
}

/** Empty for what is no address at all: that is refused already, but a refinement runs all the same. */
function credentialsOf(text: string): string {
  const url = URL.parse(text)
  return url === null ? '' : url.username + url.password
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
