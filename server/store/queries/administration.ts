import { randomUUID } from 'node:crypto'
import { QueryGroup } from '../rows.ts'
import type { Schema } from '../schema.ts'
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

  deleteBefore(before: number, limit: number): Promise<number> {
    return this.rows('audit_log').removeFirst(limit, (all) => all.where('at', '<', before))
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
  readonly #rows = this.rows('operator_settings')

  async find(name: OperatorSettingName): Promise<unknown> {
    const setting = await this.#rows.find({ name })
    return setting && JSON.parse(setting.value)
  }

  put(name: OperatorSettingName, given: object): Promise<void> {
    return this.#rows.put({ name, value: JSON.stringify(given) })
  }

  async remove(name: OperatorSettingName): Promise<boolean> {
    return (await this.#rows.remove({ name })) > 0
  }
}
