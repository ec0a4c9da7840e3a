import { randomUUID } from 'node:crypto'
import { QueryGroup } from '../rows.ts'
import type { Schema } from '../schema.ts'
import { countDeleted, hasDeleted } from '../statement.ts'
import type { AuditEntry, AuditPosition, AuditRecord, OperatorSettingName } from '../tables/administration.ts'

export class AuditQueries extends QueryGroup {
  /** To be called in the transaction of the change. */
  async add({ at, actor, action, target, details }: AuditRecord): Promise<void> {
    const { accountId: actor_id, name, network } = actor
    await this.db
      .insertInto('audit_log')
      .values({
        ...{ id: randomUUID(), at, actor_id, actor: name, network, action, target },
        details: details === undefined ? null : JSON.stringify(details),
      })
      .execute()
  }

  async list(page: {
    limit: number
    target?: string | undefined
    after?: AuditPosition | undefined
  }): Promise<AuditEntry[]> {
    const { limit, target, after } = page
    const rows = await this.db
      .selectFrom('audit_log')
      .selectAll()
      .$if(target !== undefined, (query) => query.where('target', '=', target!))
      .$if(after !== undefined, (query) =>
        query.where((e) => e(e.refTuple('at', 'id'), '<', e.tuple(after!.at, after!.id))),
      )
      .orderBy('at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit)
      .execute()
    return rows.map(toEntry)
  }

  async deleteBefore(before: number, limit: number): Promise<number> {
    const old = this.db.selectFrom('audit_log').select('id').where('at', '<', before).limit(limit)
    return countDeleted(this.db.deleteFrom('audit_log').where('id', 'in', old))
  }
}

function toEntry({
  id,
  at,
  actor_id,
  actor,
  network,
  action,
  target,
  details,
}: Schema['audit_log']): AuditEntry {
  return {
    ...{ id, at, actor: { accountId: actor_id, name: actor, network }, action, target },
    ...(details === null ? {} : { details: JSON.parse(details) }),
  }
}

export class OperatorSettingQueries extends QueryGroup {
  async find(name: OperatorSettingName): Promise<unknown> {
    const row = await this.db
      .selectFrom('operator_settings')
      .select('value')
      .where('name', '=', name)
      .executeTakeFirst()
    return row && JSON.parse(row.value)
  }

  async put(name: OperatorSettingName, given: object): Promise<void> {
    const value = JSON.stringify(given)
    await this.db
      .insertInto('operator_settings')
      .values({ name, value })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
      .execute()
  }

  async remove(name: OperatorSettingName): Promise<boolean> {
    return hasDeleted(this.db.deleteFrom('operator_settings').where('name', '=', name))
  }
}
