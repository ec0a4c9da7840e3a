import { makeLog } from '../../server/lib/log.ts'

export const silentLog = makeLog({ level: 'silent', text: false, write: () => undefined })
