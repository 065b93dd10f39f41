import { COMMON, KAFKA, POSTGRES, readConfig, REGISTRY } from '../../runtime/config.ts'

const AUDIT = { APP_ID: COMMON.APP_ID, ...KAFKA, ...POSTGRES, ...REGISTRY }
export type AuditConfig = ReturnType<typeof readAuditConfig>

/** @throws BadConfiguration naming every variable that is missing or wrong */
export const readAuditConfig = (env: NodeJS.ProcessEnv) => readConfig(AUDIT, env)
