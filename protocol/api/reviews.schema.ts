import { MAX_PATH_LENGTH } from '../manifest/paths.ts'
import { slug, versionId } from './fields.schema.ts'
import * as reviews from './reviews.ts'
import { bool, constant, integer, list, named, nullable, object, type Static, text, time } from './schema.ts'

// Reviews of a preview or of the live version of a site (contract, "Review").

const pixels = (description: string) => integer(description, { minimum: 0, maximum: 100_000 })

/** Where on a page a thread is; a page can state anything here, and nothing else. */
export const place = named('ReviewPlace', {
  path: text('The path of the page: text that begins with a slash', {
    pattern: '^/',
    maxLength: MAX_PATH_LENGTH + 1,
  }),
  selector: text('CSS selector of the element', { maxLength: reviews.MAX_SELECTOR_LENGTH }),
  text: text('The selected text, or that of the element', { maxLength: reviews.MAX_PLACE_TEXT_LENGTH }),
  before: text('The text before it', { maxLength: reviews.MAX_NEIGHBOUR_LENGTH }),
  after: text('The text after it', { maxLength: reviews.MAX_NEIGHBOUR_LENGTH }),
  width: pixels('Width of the viewport in CSS pixels'),
  height: pixels('Height of the viewport in CSS pixels'),
})
export type ReviewPlace = Static<typeof place>

const reviewerRole = text('`guest` has a link and no account with access', {
  enum: ['owner', 'collaborator', 'guest'],
})
export type ReviewerRole = Static<typeof reviewerRole>

const authorRole = text(
  'As that of a reviewer; `key` is a key that may not decide, which says nothing of a person',
  { enum: ['owner', 'collaborator', 'guest', 'key'] },
)

const author = named('Reviewer', {
  name: text('As the reviewer calls itself; its role is verified'),
  role: authorRole,
})
export type Reviewer = Static<typeof author>

export const comment = named('ReviewComment', {
  id: text('Its id'),
  author,
  text: text('As it was written'),
  createdAt: time('When'),
})
export type ReviewComment = Static<typeof comment>

const threadStatus = text('Whether it still needs something', { enum: ['open', 'resolved'] })
export type ThreadStatus = Static<typeof threadStatus>

export const thread = named('ReviewThread', {
  id: text('Its id'),
  status: threadStatus,
  outdated: bool('Whether the version that is shown now has no such place'),
  versionId: text('The version on which it began'),
  place,
  createdAt: time('Begin'),
  changedAt: time('Last comment or change of the status'),
  comments: list(comment, 'The oldest first'),
})
export type ReviewThread = Static<typeof thread>

const verdict = text('The decision', { enum: ['approved', 'changes-requested'] })

export const decision = named('ReviewDecision', {
  id: text('Its id'),
  decision: verdict,
  versionId,
  contentHash: text('Equal for versions with equal files and metadata'),
  note: nullable(text('What the reviewer adds')),
  author,
  createdAt: time('When'),
})
export type ReviewDecision = Static<typeof decision>

const audience = text('Who can use the link; `collaborators` includes the owner', {
  enum: ['anyone', 'collaborators'],
})
export type ReviewAudience = Static<typeof audience>

const linkFields = {
  id: text('Its id'),
  audience,
  createdBy: nullable(
    text('Email address of its creator; it ends when this account has no more access to the site'),
  ),
  createdAt: time('Creation'),
  expiresAt: nullable(time('Expiry; null when it ends with the preview')),
}
export const reviewLink = named('ReviewLink', linkFields)
export type ReviewLink = Static<typeof reviewLink>

export const reviewLinkRequest = named(
  'ReviewLinkRequest',
  {},
  {
    audience,
    expiresInSeconds: integer('At most 90 days; when it is absent for a live version, 30 days', {
      minimum: 60,
      maximum: 7_776_000,
    }),
  },
)
export const createdReviewLink = named('CreatedReviewLink', {
  ...linkFields,
  url: text(
    'Shown once. Anyone with it can comment; with that of a key of scope `manage` or a session also decide',
  ),
})
export type CreatedReviewLink = Static<typeof createdReviewLink>

export const revokedReviewLink = named('RevokedReviewLink', {
  id: text('Its id'),
  revoked: constant(true, 'Always true'),
})
export type RevokedReviewLink = Static<typeof revokedReviewLink>

const counts = object({
  open: integer('Open threads with a place'),
  resolved: integer('Resolved threads'),
  outdated: integer('Open threads without a place'),
})

export const review = named(
  'Review',
  {
    slug,
    preview: nullable(text('The name of the preview; null for the live version')),
    title: nullable(text('Title of the version')),
    url: text('Where visitors find it'),
    versionId: text('The version that is shown now'),
    contentHash: text('Equal for versions with equal files and metadata'),
    frame: object({
      url: text('Shows the version in a frame of the review page'),
      expiresAt: time('When this URL ends'),
    }),
    role: reviewerRole,
    mayDecide: bool('Whether the caller may approve, or request changes'),
    decision: text('About the content that is shown now', {
      enum: ['none', 'approved', 'changes-requested'],
    }),
    decided: nullable(decision, 'The decision that counts; null when it was made in another review'),
    decisions: list(decision, 'The newest first, at most 20'),
    counts,
    threads: list(thread, 'The newest first'),
    revision: text('Changes with the review'),
  },
  { links: list(reviewLink, 'For the owner and the collaborators') },
)
export type Review = Static<typeof review>

export const reviewTokenHeader = object(
  {},
  {
    [reviews.REVIEW_TOKEN_HEADER]: text('The token of a review link, in place of a key', { maxLength: 100 }),
  },
)

export const reviewQuery = object(
  {},
  {
    status: text('Only these threads', { enum: ['open', 'resolved', 'outdated'] }),
    path: text('Only threads of this page', { maxLength: MAX_PATH_LENGTH + 1 }),
  },
)

const name = text('The name of a reviewer without an account; required for them', {
  minLength: 1,
  maxLength: reviews.MAX_REVIEWER_NAME_LENGTH,
})
const words = text('The comment, as plain text', { minLength: 1, maxLength: reviews.MAX_COMMENT_LENGTH })

export const threadRequest = named('ReviewThreadRequest', { versionId, place, text: words }, { name })
export type ThreadRequest = Static<typeof threadRequest>

export const threadChange = named('ReviewThreadChange', {}, { text: words, status: threadStatus, name })
export type ThreadChange = Static<typeof threadChange>

const note = text('A note', { maxLength: reviews.MAX_NOTE_LENGTH })

export const decisionRequest = named(
  'ReviewDecisionRequest',
  { decision: verdict, versionId },
  { note, name },
)
export type DecisionRequest = Static<typeof decisionRequest>

const ids = (description: string) =>
  list(text('Id of a thread', { maxLength: 26 }), description, { maxItems: reviews.MAX_THREADS })

export const placementsRequest = named('ReviewPlacements', {
  versionId,
  placed: ids('Found on their page'),
  missing: ids('Not found on their page'),
})
export type Placements = Static<typeof placementsRequest>

export const placementsResponse = named('ReviewCounts', { counts })
export type PlacementsResponse = Static<typeof placementsResponse>

export const changesQuery = object({}, { since: text('The revision that is known', { maxLength: 200 }) })

export const reviewRevision = named('ReviewRevision', { revision: text('The current revision') })
export type ReviewRevision = Static<typeof reviewRevision>
