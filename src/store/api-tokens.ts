import type { Role } from '../runtime/access-token.ts'
import type { Queryable } from '../runtime/postgres.ts'
import { int, intOrNull, ms, rowsOf } from './statement.ts'

/** A token without its secret, of which only the hash is kept. */
export interface ApiToken {
  readonly id: number
  readonly name: string
  /** Null: every merchant. */
  readonly merchant: string | null
  readonly role: Role
  readonly createdAtMs: number
  readonly expiresAtMs: number | null
  readonly revokedAtMs: number | null
}

type Row = [unknown, string, string | null, Role, unknown, unknown, unknown]
const COLUMNS = `id, name, merchant, role, ${ms('created_at')}, ${ms('expires_at')}, ${ms('revoked_at')}`
const tokenOf = (row: Row): ApiToken => ({
  id: int(row[0]),
  name: row[1],
  merchant: row[2],
  role: row[3],
  createdAtMs: int(row[4]),
  expiresAtMs: intOrNull(row[5]),
  revokedAtMs: intOrNull(row[6]),
})

const FIND = {
  name: 'find-api-token',
  text: `select ${COLUMNS} from api_tokens
    where token_hash = $1 and revoked_at is null and (expires_at is null or expires_at > to_timestamp($2 / 1000.0))`,
}
const INSERT = {
  name: 'insert-api-token',
  text: `insert into api_tokens (name, token_hash, merchant, role, expires_at)
    values ($1, $2, $3, $4, to_timestamp($5::int8 / 1000.0)) on conflict (name) do nothing returning ${COLUMNS}`,
}
const LIST = { name: 'list-api-tokens', text: `select ${COLUMNS} from api_tokens order by id` }
const REVOKE = {
  name: 'revoke-api-token',
  text: `update api_tokens set revoked_at = coalesce(revoked_at, now()) where name = $1 returning ${COLUMNS}`,
}

/** @returns undefined: no such token, or it has expired or was revoked. */
export async function findApiToken(db: Queryable, tokenHash: Buffer, now: Date): Promise<ApiToken | undefined> {
  const [row] = await rowsOf<Row>(db, FIND, [tokenHash, now.getTime()])
  return row === undefined ? undefined : tokenOf(row)
}

/** @returns undefined: a token of this name exists, or existed; names are never used twice. */
export async function insertApiToken(
  db: Queryable,
  token: Pick<ApiToken, 'name' | 'merchant' | 'role' | 'expiresAtMs'> & { readonly tokenHash: Buffer },
): Promise<ApiToken | undefined> {
  const values = [token.name, token.tokenHash, token.merchant, token.role, token.expiresAtMs]
  const [row] = await rowsOf<Row>(db, INSERT, values)
  return row === undefined ? undefined : tokenOf(row)
}

export async function listApiTokens(db: Queryable): Promise<ApiToken[]> {
  return (await rowsOf<Row>(db, LIST, [])).map(tokenOf)
}

/** Takes effect with the next request. @returns undefined: there is no token of this name. */
export async function revokeApiToken(db: Queryable, name: string): Promise<ApiToken | undefined> {
  const [row] = await rowsOf<Row>(db, REVOKE, [name])
  return row === undefined ? undefined : tokenOf(row)
}
