import type { Answer } from '../../../protocol/api/operations.schema.ts'
import type { OperationId } from '../../../protocol/api/paths.ts'
import type { ReviewThread } from '../../../protocol/api/reviews.schema.ts'
import { REVIEW_IDS } from '../../../protocol/api/reviews.ts'
import { object, text } from '../../../protocol/api/schema.ts'
import { type ApiClient, type Arguments, adds, dashboardUrl, READ, site, type Tools } from './tool.ts'

const LISTED_THREADS = 20

/** At most 2,000 tokens of sentences, in any script. */
const MAX_LISTED_BYTES = 6000

/** Characters of a text; those of a list are fewer, so that it fits. */
const MAX_TEXT = 5000

const preview = text('Name of the preview; without it, the live version')
const thread = text('Id of the thread, from list_feedback')

export const REVIEW_TOOLS: Tools = {
  list_feedback: {
    title: 'List feedback',
    description: `Lists what reviewers want changed on a preview or the live version: page, place, words. The newest ${LISTED_THREADS} threads, with long texts cut; or one thread with more of them.`,
    input: object(
      { slug: site },
      { preview, status: text('Default open', { enum: ['open', 'resolved', 'outdated'] }), thread },
    ),
    ...READ,
    call: async (api, { thread, status = thread === undefined ? 'open' : undefined, ...subject }) => {
      const review = await callReview(api, REVIEW_IDS.get, subject, { query: { status } })
      const found = review.threads.filter(({ id }) => thread === undefined || id === thread)
      const listed = found.slice(0, LISTED_THREADS)
      for (let max = MAX_TEXT; ; max = Math.floor(max * 0.8)) {
        const result = { threads: listed.map((one) => describe(one, max)), counts: review.counts }
        if (Buffer.byteLength(JSON.stringify(result)) <= MAX_LISTED_BYTES) return result
      }
    },
  },
  get_review: {
    title: 'Get the decision of a review',
    description:
      'Says whether the shown version was approved or changes were requested, by whom, with the note.',
    input: object({ slug: site }, { preview }),
    ...READ,
    call: async (api, subject) => {
      const review = await callReview(api, REVIEW_IDS.get, subject)
      const { url, versionId, decision, decided, counts } = review
      return {
        ...{ url, versionId, decision, counts },
        ...(decided && { by: `${decided.author.name} (${decided.author.role})`, note: decided.note }),
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
      describe(await callReview(api, REVIEW_IDS.addToThread, { ...subject, id: thread }, { body: { text } })),
  },
  resolve_feedback: {
    title: 'Resolve feedback',
    description: 'Marks a thread of a review as done.',
    input: object({ slug: site, thread }, { preview }),
    ...adds('publish'),
    call: async (api, { thread, ...subject }) =>
      describe(
        await callReview(
          api,
          REVIEW_IDS.addToThread,
          { ...subject, id: thread },
          { body: { status: 'resolved' } },
        ),
      ),
  },
}

function callReview<Id extends OperationId>(
  api: ApiClient,
  [live, ofPreview]: readonly [Id, Id],
  { slug, preview, id }: Arguments,
  call: { query?: Arguments; body?: Arguments } = {},
): Promise<Answer<Id>> {
  const params = { slug, ...(id !== undefined && { id }) }
  return preview === undefined
    ? api.call(live, { params, ...call })
    : api.call(ofPreview, { params: { ...params, name: preview }, ...call })
}

function describe({ id, status, outdated, place, comments }: ReviewThread, max = MAX_TEXT): object {
  const [first] = comments
  const last = comments.length > 1 ? comments.at(-1) : undefined
  const { width } = place
  const short = (words: string) => cut(words, max / 2)
  return {
    ...{ id, path: short(place.path), place: short(place.text), selector: short(place.selector), width },
    ...{ by: short(first!.author.name), words: cut(first!.text, max) },
    ...(last && { replies: comments.length - 1, lastReply: cut(last.text, max) }),
    ...(status === 'resolved' && { status }),
    ...(outdated && { outdated }),
  }
}

function cut(words: string, max: number): string {
  return words.length > max ? `${words.slice(0, max)}…` : words
}
