import { type EntityOf, integer, json, key, nullable, Table, text } from '../table.ts'

export const auditTable = new Table({
  id: key(text),
  at: integer,
  actorId: nullable(text),
  actor: text,
  network: nullable(text),
  action: text,
  target: text,
  /** Further facts, such as the reason: a small object. */
  details: nullable(json<Readonly<Record<string, unknown>>>()),
})

export type AuditEntry = EntityOf<typeof auditTable>

/** Who makes a change: an account with the network of its request, or the command line. */
export interface AuditActor {
  accountId: string | null
  /** The email address of the account, or `command line`. */
  name: string
  /** As `shortenAddress` returns it. */
  network: string | null
}

export const COMMAND_LINE: AuditActor = Object.freeze({
  accountId: null,
  name: 'command line',
  network: null,
})

export interface AuditRecord {
  at: number
  actor: AuditActor
  /** What is changed, a dot, and the verb, such as `site.suspend`. */
  action: string
  /** What identifies it for people: a slug, an email address, a domain, the name of a setting. */
  target: string
  details?: AuditEntry['details']
}

/** What the operator has set while the service runs, as JSON. */
export const operatorSettingTable = new Table({ name: key(text), value: text })

/** `service` is the id by which backups know their service: it stays with the data. */
export type OperatorSettingName = 'banner' | 'service'

/** The name in change notifications that stands for these settings. No site and no domain has it. */
export const OPERATOR_SETTINGS_CHANGED = '_settings'
