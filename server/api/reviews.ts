import type { FastifyRequest } from 'fastify'
import { REVIEW_TOKEN_HEADER } from '../../protocol/api/reviews.ts'
import type { Services } from '../services.ts'
import type { ReviewCaller } from '../sites/reviews/access.ts'
import type { ReviewSubject } from '../store/tables/reviews.ts'
import { charge, chargeMessage } from './auth.ts'
import type { Call, Handlers } from './route.ts'

/** Each operation has one handler for the live version and for a preview. */
export function reviewHandlers({ reviews, limits }: Services) {
  const get = (call: Call<'getReview'>) => reviews.get(callerOf(call), subjectOf(call), call.query)
  const createLink = (call: Call<'createReviewLink'>) =>
    reviews.createLink(callerOf(call), subjectOf(call), call.body)
  const revokeLink = (call: Call<'revokeReviewLink'>) =>
    reviews.revokeLink(callerOf(call), subjectOf(call), call.params.id)
  const createThread = (call: Call<'createThread'>) =>
    reviews.createThread(callerOf(call), subjectOf(call), call.body)
  const addToThread = (call: Call<'addToThread'>) =>
    reviews.addToThread(callerOf(call), subjectOf(call), call.params.id, call.body)
  const decide = (call: Call<'decideReview'>) => reviews.decide(callerOf(call), subjectOf(call), call.body)
  const place = (call: Call<'reportPlacements'>) =>
    reviews.reportPlacements(callerOf(call), subjectOf(call), call.body)
  const wait = async (call: Call<'waitForReview'>) => {
    const { request, reply, caller, query } = call
    // A client that waits sends 144 an hour.
    if (caller.account) await chargeMessage(limits, request)
    else await charge(limits, request, reply, 'review')
    if (request.validationError) throw request.validationError
    const closed = new AbortController()
    reply.raw.once('close', () => closed.abort())
    return reviews.wait(callerOf(call), subjectOf(call), { since: query.since, signal: closed.signal })
  }
  return {
    openReview: (call) => reviews.open(callerOf(call)),
    ...{ getReview: get, createReviewLink: createLink, revokeReviewLink: revokeLink },
    ...{ createThread, addToThread, decideReview: decide, reportPlacements: place, waitForReview: wait },
    ...{ getPreviewReview: get, createPreviewReviewLink: createLink, revokePreviewReviewLink: revokeLink },
    ...{ createPreviewThread: createThread, addToPreviewThread: addToThread, decidePreviewReview: decide },
    ...{ reportPreviewPlacements: place, waitForPreviewReview: wait },
  } satisfies Partial<Handlers>
}

function subjectOf({ request }: { request: FastifyRequest }): ReviewSubject {
  const { slug, name = '' } = request.params as { slug: string; name?: string }
  return { slug, previewName: name }
}

function callerOf({ request }: { request: FastifyRequest }): ReviewCaller {
  const token = request.headers[REVIEW_TOKEN_HEADER]
  return { ...request.caller, reviewToken: typeof token === 'string' ? token : undefined }
}
