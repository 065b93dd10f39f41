import { createPrivateKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A public test vector, for the caller to say which fields it has. */
export const vector = (name: string): unknown =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../vectors', `${name}.json`), 'utf8'))

/** The published test keys are armoured so that no scanner takes them for real ones. */
export const testingKey = (armoured: string): KeyObject =>
  createPrivateKey(armoured.replaceAll('TESTING KEY', 'PRIVATE KEY'))

interface Platform {
  serial: string
  wechatPayPrivateKeyPemArmoured: string
  wechatPayCertificatePem: string
  wechatPayPublicKeyPem: string
  apiV3Key: string
}
export const platform = vector('wechat-v3/java-wechatpay-keypair') as Platform

export const otherPrivateKey = testingKey(
  (vector('wechat-v3/axios-keypair') as { privateKeyPemArmoured: string }).privateKeyPemArmoured,
)
export const platformPrivateKey = testingKey(platform.wechatPayPrivateKeyPemArmoured)
