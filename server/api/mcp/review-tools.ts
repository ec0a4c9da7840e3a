import type { Answer } from '../../../protocol/api/operations.schema.ts'
import type { ReviewComment, ReviewThread } from '../../../protocol/api/reviews.schema.ts'
import { MAX_COMMENT_LENGTH, REVIEW_IDS, type ReviewId } from '../../../protocol/api/reviews.ts'
import { object, text } from '../../../protocol/api/schema.ts'
import { truncate } from '../../../protocol/format.ts'
import { type ApiClient, type Arguments, adds, dashboardUrl, READ, site, type Tools } from './tool.ts'

const LISTED_THREADS = 20

/** At most 2,000 tokens of sentences, in any script. */
const MAX_LISTED_BYTES = 6000

/** Characters of a text; those of a list are fewer, so that it fits. */
const MAX_TEXT = 5000

const preview = text('Name of the preview; without it, the live version')
const thread = text('Id of the thread, from list_feedback')
const reply = text('The reply', { maxLength: MAX_COMMENT_LENGTH })

export const REVIEW_TOOLS: Tools = {
  list_feedback: {
    title: 'List feedback',
    description: `Lists what reviewers want changed on a preview or the live version: page, place, words. The newest ${LISTED_THREADS} threads, with long texts cut; or one thread with more of them.`,
    input: object(
      { slug: site },
      {
        preview,
        status: text('Default open, then outdated', { enum: ['open', 'resolved', 'outdated'] }),
        thread,
      },
    ),
    ...READ,
    call: async (api, { thread, status, ...subject }) => {
      const review = await callReview(api, 'getReview', subject, { query: { status } })
      const found = review.threads.filter((one) =>
        thread === undefined ? status !== undefined || one.status === 'open' : one.id === thread,
      )
      found.sort((one, other) => Number(one.outdated) - Number(other.outdated))
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
      const review = await callReview(api, 'getReview', subject)
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
    input: object({ slug: site, thread, text: reply }, { preview }),
    ...adds('publish'),
    call: (api, { text, ...thread }) => changeThread(api, thread, { text }),
  },
  resolve_feedback: {
    title: 'Resolve feedback',
    description: 'Marks a thread of a review as done.',
    input: object({ slug: site, thread }, { preview }),
    ...adds('publish'),
    call: (api, thread) => changeThread(api, thread, { status: 'resolved' }),
  },
}

async function changeThread(api: ApiClient, { thread: id, ...subject }: Arguments, body: Arguments) {
  return describe(await callReview(api, 'addToThread', { ...subject, id }, { body }))
}

export function callReview<Id extends ReviewId>(
  api: ApiClient,
  operation: Id,
  { slug, preview, id }: Arguments,
  call: { query?: Arguments; body?: Arguments } = {},
): Promise<Answer<Id>> {
  const [sent, name] = preview === undefined ? [operation] : [REVIEW_IDS[operation], preview]
  return api.call(sent, { params: { slug, name, id }, ...call }) as Promise<Answer<Id>>
}

function describe({ id, status, outdated, place, comments }: ReviewThread, max = MAX_TEXT): object {
  const [first] = comments
  const last = comments.length > 1 ? comments.at(-1) : undefined
  const { width } = place
  const short = (words: string) => truncate(words, max / 2, '…')
  const by = ({ author }: ReviewComment) => `${short(author.name)} (${author.role})`
  return {
    ...{ id, path: short(place.path), place: short(place.text), selector: short(place.selector), width },
    ...{ by: by(first!), words: truncate(first!.text, max, '…') },
    ...(last && { replies: comments.length - 1, lastReplyBy: by(last) }),
    ...(last && { lastReply: truncate(last.text, max, '…') }),
    ...(status === 'resolved' && { status }),
    ...(outdated && { outdated }),
  }
}
