import { randomUUID } from 'node:crypto'
import { QueryGroup } from '../rows.ts'
import type { AuditEntry, AuditRecord, OperatorSettingName } from '../tables/administration.ts'

export class AuditQueries extends QueryGroup {
  readonly #rows = this.rows('audit_log')

  /** To be called in the transaction of the change. */
  add({ details = null, ...record }: AuditRecord): Promise<void> {
    const { accountId: actorId, name: actor, network } = record.actor
    return this.#rows.insert({ ...record, id: randomUUID(), actorId, actor, network, details })
  }

  /** The newest first, from `after` on. */
  list(page: {
    limit: number
    target?: string | undefined
    after?: Pick<AuditEntry, 'at' | 'id'> | undefined
  }): Promise<AuditEntry[]> {
    const { limit, target, after } = page
    return this.#rows.list((all) => {
      const newest = all.orderBy('at', 'desc').orderBy('id', 'desc').limit(limit)
      const listed = target === undefined ? newest : newest.where('target', '=', target)
      return after ? listed.where((e) => e(e.refTuple('at', 'id'), '<', e.tuple(after.at, after.id))) : listed
    })
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
}
