import { Table, text } from '../table.ts'

/** What the operator has set while the service runs, as JSON. */
export const operatorSettingTable = new Table({ name: text, value: text })

export type OperatorSettingName = 'banner'

/** The name in change notifications that stands for these settings. No site and no domain has it. */
export const OPERATOR_SETTINGS_CHANGED = '_settings'
