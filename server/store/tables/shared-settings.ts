import { type EntityOf, Table, text } from '../table.ts'
/** The fingerprint of a setting that all nodes have in common. */
export const sharedSettingTable = new Table({
  name: text,
  fingerprint: text,
})

export type SharedSetting = EntityOf<typeof sharedSettingTable>

export interface SharedSettingQueries {
  /** In no order. */
  list(): Promise<SharedSetting[]>

  /** Stores those whose names have none yet. */
  addMissing(settings: readonly SharedSetting[]): Promise<void>

  /** Stores them in place of earlier ones. */
  replace(settings: readonly SharedSetting[]): Promise<void>
}
