import { type EntityOf, Table, text } from '../table.ts'

/** The fingerprint of a setting that all nodes have in common. */
export const sharedSettingTable = new Table({ name: text, fingerprint: text })

export type SharedSetting = EntityOf<typeof sharedSettingTable>
