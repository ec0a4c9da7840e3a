import type { AuditPage } from '../../../protocol/api/admin/audit.schema.ts'
import { Component } from '../../lib/component.ts'
import { toIso } from '../../lib/time.ts'
import type { Parts } from '../../parts.ts'
import type { AuditEntry } from '../../store/tables/administration.ts'
import { decodeCursor, type PageRequest, toPage } from './page.ts'

/** The log of changes by administrators. Features add entries in their writes: `tx.audit.add`. */
export class AuditLog extends Component<Pick<Parts, 'store'>> {
  /** Newest first. VALIDATION_ERROR for an invalid cursor. */
  async list({ limit, cursor, target }: PageRequest & { target?: string | undefined }): Promise<AuditPage> {
    const last = decodeCursor(cursor)
    const after = last && { at: last[0], id: last[1] }
    const entries = await this.parts.store.read.audit.list({ limit: limit + 1, target, after })
    return toPage(entries, { limit, show, position: ({ at, id }) => [at, id] })
  }
}

function show({ id, at, actor, network, action, target, details }: AuditEntry): AuditPage['rows'][number] {
  return { id, at: toIso(at), actor, network, action, target, ...(details && { details: { ...details } }) }
}
