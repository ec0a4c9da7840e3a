import { integer, Table, text } from '../table.ts'

export const acceptedScanTable = new Table({ hash: text, scanner: text, acceptedAt: integer })
