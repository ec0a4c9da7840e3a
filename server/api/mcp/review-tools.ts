import type { Review, ReviewThread } from '../../../protocol/api/reviews.schema.ts'
import { REVIEW_IDS } from '../../../protocol/api/reviews.ts'
import { object, text } from '../../../protocol/api/schema.ts'
import { type ApiClient, type Arguments, adds, dashboardUrl, READ, site, type Tools } from './tool.ts'

const LISTED_THREADS = 20

/** Characters of a text, so that 20 threads have at most about 2,000 tokens. */
const MAX_PLACE = 60
const MAX_WORDS = 160

const preview = text('Name of the preview; without it, the live version')
const thread = text('Id of the thread, from list_feedback')

export const REVIEW_TOOLS: Tools = {
  list_feedback: {
    title: 'List feedback',
    description: `Lists what reviewers want changed on a preview or the live version: page, place, words. The newest ${LISTED_THREADS} threads.`,
    input: object(
      { slug: site },
      { preview, status: text('Default open', { enum: ['open', 'resolved', 'outdated'] }) },
    ),
    ...READ,
    call: async (api, { status = 'open', ...subject }) => {
      const { threads, counts } = await callReview<Review>(api, 'get', subject, { query: { status } })
      return { threads: threads.slice(0, LISTED_THREADS).map(describe), counts }
    },
  },
  get_review: {
    title: 'Get the decision of a review',
    description:
      'Says whether the shown version was approved or changes were requested, by whom, with the note.',
    input: object({ slug: site }, { preview }),
    ...READ,
    call: async (api, subject) => {
      const review = await callReview<Review>(api, 'get', subject)
      const { url, versionId, decision, decisions, counts } = review
      const last = decisions.find((one) => one.versionId === versionId)
      return {
        ...{ url, versionId, decision, counts },
        ...(last && { by: `${last.author.name} (${last.author.role})`, note: last.note }),
        dashboardUrl: `${dashboardUrl(api, review.slug)}/review?preview=${review.preview ?? ''}`,
      }
    },
  },
  reply_to_feedback: {
    title: 'Reply to feedback',
    description: 'Answers a thread of a review, such as with what was changed.',
    input: object({ slug: site, thread, text: text('The reply') }, { preview }),
    ...adds('publish'),
    call: async (api, { thread, text, ...subject }) =>
      describe(await callReview(api, 'addToThread', { ...subject, id: thread }, { body: { text } })),
  },
  resolve_feedback: {
    title: 'Resolve feedback',
    description: 'Marks a thread of a review as done.',
    input: object({ slug: site, thread }, { preview }),
    ...adds('publish'),
    call: async (api, { thread, ...subject }) =>
      describe(
        await callReview(api, 'addToThread', { ...subject, id: thread }, { body: { status: 'resolved' } }),
      ),
  },
}

function callReview<T>(
  api: ApiClient,
  name: 'get' | 'addToThread',
  { slug, preview, id }: Arguments,
  call: { query?: Arguments; body?: Arguments } = {},
): Promise<T> {
  const [live, ofPreview] = REVIEW_IDS[name]
  const params = { slug, ...(id !== undefined && { id }) }
  return preview === undefined
    ? api.call(live, { params, ...call })
    : api.call(ofPreview, { params: { ...params, name: preview }, ...call })
}

function describe({ id, status, outdated, place, comments }: ReviewThread): object {
  const [first] = comments
  const last = comments.length > 1 ? comments.at(-1) : undefined
  return {
    ...{ id, path: place.path, place: cut(place.text, MAX_PLACE), selector: cut(place.selector, MAX_PLACE) },
    ...{ by: first!.author.name, words: cut(first!.text, MAX_WORDS) },
    ...(last && { replies: comments.length - 1, lastReply: cut(last.text, MAX_WORDS) }),
    ...(status === 'resolved' && { status }),
    ...(outdated && { outdated }),
  }
}

function cut(words: string, max: number): string {
  return words.length > max ? `${words.slice(0, max)}…` : words
}
