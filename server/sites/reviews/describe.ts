import type {
  Review,
  ReviewDecision,
  ReviewLink,
  ReviewThread,
} from '../../../protocol/api/reviews.schema.ts'
import { toIso, toIsoOrNull } from '../../lib/time.ts'
import type { StoredDecision, StoredReviewLink, StoredThread } from '../../store/tables/reviews.ts'

/** A thread beside the version that is shown now. */
export function describeThread(thread: StoredThread, shownId: string): ReviewThread {
  const { id, status, versionId, place, createdAt, changedAt, comments, outdatedIn } = thread
  return {
    ...{ id, status, outdated: outdatedIn === shownId, versionId, place },
    ...{ createdAt: toIso(createdAt), changedAt: toIso(changedAt) },
    comments: comments.map(({ at, ...comment }) => ({ ...comment, createdAt: toIso(at) })),
  }
}

export function countThreads(threads: readonly ReviewThread[]): Review['counts'] {
  const open = threads.filter(({ status }) => status === 'open')
  const outdated = open.filter((thread) => thread.outdated).length
  return { open: open.length - outdated, resolved: threads.length - open.length, outdated }
}

export function describeDecision(stored: StoredDecision): ReviewDecision {
  const { id, decision, versionId, contentHash, note, author, createdAt } = stored
  return { id, decision, versionId, contentHash, note, author, createdAt: toIso(createdAt) }
}

/** The last decision about a content. */
export function verdictOf([last]: readonly StoredDecision[]): Review['decision'] {
  return last?.decision ?? 'none'
}

export function describeLink({ id, audience, createdAt, expiresAt }: StoredReviewLink): ReviewLink {
  return { id, audience, createdAt: toIso(createdAt), expiresAt: toIsoOrNull(expiresAt) }
}
