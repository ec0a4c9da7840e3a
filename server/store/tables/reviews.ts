import type {
  ReviewAudience,
  ReviewDecision,
  Reviewer,
  ReviewPlace,
  ThreadStatus,
} from '../../../protocol/api/reviews.schema.ts'
import { type EntityOf, integer, json, key, nullable, oneOf, Table, text } from '../table.ts'

/** What is reviewed: the preview of this name, or with an empty one the live version of the site. */
export interface ReviewSubject {
  slug: string
  previewName: string
}

const subject = { slug: text, previewName: text }

export const reviewLinkTable = new Table({
  id: key(text),
  ...subject,
  tokenHash: text,
  audience: oneOf<ReviewAudience>(),
  /** The account that created it. */
  createdBy: text,
  /** The key that created it, and with which it ends; null for a credential that may give lasting access. */
  keyHash: nullable(text),
  createdAt: integer,
  /** Null when it ends with the preview. */
  expiresAt: nullable(integer),
})
export type StoredReviewLink = EntityOf<typeof reviewLinkTable>

export interface StoredComment {
  id: string
  author: Reviewer
  text: string
  at: number
}

export const reviewThreadTable = new Table({
  id: key(text),
  ...subject,
  versionId: text,
  place: json<ReviewPlace>(),
  status: oneOf<ThreadStatus>(),
  /** The version that has no such place. */
  outdatedIn: nullable(text),
  comments: json<readonly StoredComment[]>(),
  /** Of its comments and its place. */
  characters: integer,
  createdAt: integer,
  changedAt: integer,
})
export type StoredThread = EntityOf<typeof reviewThreadTable>

export const reviewDecisionTable = new Table({
  id: key(text),
  ...subject,
  versionId: text,
  contentHash: text,
  decision: oneOf<ReviewDecision['decision']>(),
  note: nullable(text),
  author: json<Reviewer>(),
  /** Null of a guest. */
  accountId: nullable(text),
  createdAt: integer,
})
export type StoredDecision = EntityOf<typeof reviewDecisionTable>
