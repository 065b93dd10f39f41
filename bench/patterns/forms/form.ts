import type { RedisClientType } from '@redis/client'
import type pg from 'pg'

export interface Callback {
  readonly outTradeNo: string
  readonly eventType: string
  /** Unique per delivery, as a provider's message id may be. */
  readonly messageId: string
}

export interface Shop {
  readonly pool: pg.Pool
  readonly redis: RedisClientType
  /** The effect: an instruction to the warehouse, acknowledged by every in-sync replica. It cannot be taken back. */
  readonly ship: (outTradeNo: string) => Promise<void>
}

/** Handles one verified callback. True: answer success; false or thrown: the provider sends it again. */
export type Form = (shop: Shop, callback: Callback) => Promise<boolean>
