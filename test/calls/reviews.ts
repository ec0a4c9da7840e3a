import { REVIEW_IDS } from '../../protocol/api/reviews.ts'
import type { Call } from '../calls.ts'
import type { CallFixture } from './fixture.ts'

type LiveId = keyof typeof REVIEW_IDS

const PLACE = { path: '/', selector: 'p', text: 't', before: '', after: '', width: 1, height: 1 }

// biome-ignore format: one row per call
const reviewCalls = (review: `/${string}`, prepare: (f: CallFixture) => ReturnType<CallFixture['review']>) => ({
  getReview: { route: `GET ${review}`, access: 'read site', right: 'read', writes: false, prepare: async (f) => ({ path: await prepare(f) }), errors: [['VALIDATION_ERROR', { query: '?status=x' }]] },
  createReviewLink: { route: `POST ${review}/links`, access: 'publish site', right: 'publish', writes: true, prepare: async (f) => ({ path: await prepare(f), json: {} }), errors: [['VALIDATION_ERROR', { json: { audience: 'x' } }]] },
  revokeReviewLink: { route: `DELETE ${review}/links/{id}`, access: 'publish site', right: 'remove', writes: true, prepare: async (f) => { const path = await prepare(f); return { path: { ...path, id: path.linkId } } } },
  createThread: { route: `POST ${review}/threads`, access: 'preview site', right: 'publish', writes: true, prepare: async (f) => { const path = await prepare(f); return { path, json: { versionId: path.versionId, place: PLACE, text: 'a' } } }, errors: [['VALIDATION_ERROR', { json: { versionId: 'x', place: PLACE, text: 'a' } }]] },
  addToThread: { route: `POST ${review}/threads/{id}`, access: 'preview site', right: 'publish', writes: true, prepare: async (f) => ({ path: await prepare(f), json: { text: 'a' } }), errors: [['VALIDATION_ERROR', { json: {} }], ['VALIDATION_ERROR', { json: { status: 'x' } }]] },
  decideReview: { route: `POST ${review}/decisions`, access: 'manage site', right: 'publish', writes: true, prepare: async (f) => { const path = await prepare(f); return { path, json: { versionId: path.versionId, decision: 'approved' } } }, errors: [['VERSION_CONFLICT', { json: { versionId: 'x', decision: 'approved' } }]] },
  reportPlacements: { route: `PUT ${review}/placements`, access: 'preview site', right: 'read', writes: true, prepare: async (f) => { const path = await prepare(f); return { path, json: { versionId: path.versionId, placed: [], missing: [path.id] } } } },
  waitForReview: { route: `GET ${review}/changes`, access: 'read site', right: 'read', writes: false, prepare: async (f) => ({ path: await prepare(f), query: '?since=x' }) },
}) as const satisfies Record<LiveId, Call>

const ofPreview = reviewCalls('/api/v1/publish/{slug}/previews/{name}/review', async (f) =>
  f.review(await f.preview()),
)

// biome-ignore format: one row per call
export const REVIEW_CALLS: Record<string, Call> = {
  openReview: { route: 'POST /api/v1/review/open', access: 'any', anonymous: true, writes: false, prepare: async (f) => ({ headers: { 'x-slipway-review': (await f.review(await f.preview())).token } }), errors: [['NOT_FOUND', { headers: { 'x-slipway-review': 'x' } }], ['NOT_FOUND', { headers: {} }]] },
  ...reviewCalls('/api/v1/publish/{slug}/review', async (f) => f.review(await f.site())),
  ...Object.fromEntries(Object.entries(REVIEW_IDS).map(([id, preview]) => [preview, ofPreview[id as LiveId]])),
}
