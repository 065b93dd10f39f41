#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { BadConfiguration, readConfig } from '../runtime/config.ts'
import { createKeys } from './create-keys.ts'

const SHAPE = {
  /** The gateway's side. */
  MERCHANTS_DIR: z.string().min(1),
  /** The senders' side. */
  SENDERS_DIR: z.string().min(1),
  MERCHANT: z.string().min(1).default('shop'),
}

/** Makes one merchant's keys, unless they are there: so that a new installation can be played with. */
try {
  const config = readConfig(SHAPE, process.env)
  if (!existsSync(join(config.MERCHANTS_DIR, `${config.MERCHANT}.json`)))
    await createKeys(
      { merchantsDir: config.MERCHANTS_DIR, sendersDir: config.SENDERS_DIR },
      [config.MERCHANT],
      new Date(),
    )
} catch (error) {
  if (!(error instanceof BadConfiguration)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 2
}
