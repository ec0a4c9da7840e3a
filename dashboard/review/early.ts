import type { Review } from '../../protocol/api/reviews.schema.ts'
import type { REVIEW_TOKEN_HEADER } from '../../protocol/api/reviews.ts'

// Requests the review of a link while the scripts of the page load; undefined for a failure. It imports no code, which
// would have to load first.

declare global {
  var earlyReview: Promise<Review | undefined> | undefined
}

const HEADER: typeof REVIEW_TOKEN_HEADER = 'x-slipway-review'

const token = location.hash.slice(1)
if (/^[\w-]{43}$/.test(token))
  globalThis.earlyReview = fetch('/api/v1/review/open', { method: 'POST', headers: { [HEADER]: token } })
    .then((response) => (response.ok ? response.json() : undefined))
    .catch(() => undefined)
