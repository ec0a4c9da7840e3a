import type { AuditPage } from '../../../protocol/api/admin/audit.schema.ts'
import { Component } from '../../lib/component.ts'
import { repeatUntilEmpty } from '../../lib/repeat-until-empty.ts'
import { DAY_MS, toIso } from '../../lib/time.ts'
import type { Parts } from '../../parts.ts'
import type { Store } from '../../store/store.ts'
import type { AuditEntry } from '../../store/tables/administration.ts'
import { decodeCursor, type PageRequest, toPage } from './page.ts'

/** Longer than a year, so that yearly work can be compared. */
const ENTRY_LIFETIME_MS = 400 * DAY_MS

const ENTRIES_PER_STATEMENT = 500

/** The log of changes by administrators. Features add entries in their writes: `tx.audit.add`. */
export class AuditLog extends Component<Pick<Parts, 'store'>> {
  /** Newest first. VALIDATION_ERROR for an invalid cursor. */
  async list({ limit, cursor, target }: PageRequest & { target?: string | undefined }): Promise<AuditPage> {
    const last = decodeCursor(cursor)
    const after = last && { at: last[0], id: last[1] }
    const entries = await this.parts.store.read.audit.list({ limit: limit + 1, target, after })
    return toPage(entries, { limit, show, position: ({ at, id }) => [at, id] })
  }

  /** For a job with its store; returns how many entries were deleted. */
  async prune(store: Store, now: number): Promise<number> {
    return repeatUntilEmpty(() =>
      store.execute('relaxed', ({ audit }) =>
        audit.deleteBefore(now - ENTRY_LIFETIME_MS, ENTRIES_PER_STATEMENT),
      ),
    )
  }
}

function show({ id, at, actor, network, action, target, details }: AuditEntry): AuditPage['rows'][number] {
  return { id, at: toIso(at), actor, network, action, target, ...(details && { details: { ...details } }) }
}
