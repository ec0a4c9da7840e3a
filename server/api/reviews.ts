import { REVIEW_TOKEN_HEADER, withPreviews } from '../../protocol/api/reviews.ts'
import type { Services } from '../services.ts'
import type { ReviewCaller } from '../sites/reviews/access.ts'
import type { ReviewSubject } from '../store/tables/reviews.ts'
import { charge, chargeMessage } from './auth.ts'
import type { Call, Handlers } from './route.ts'

export function reviewHandlers({ reviews, limits }: Services) {
  return {
    openReview: (call) => reviews.open(callerOf(call)),
    ...withPreviews({
      getReview: (call: Call<'getReview'>) => reviews.get(callerOf(call), subjectOf(call), call.query),
      createReviewLink: (call: Call<'createReviewLink'>) =>
        reviews.createLink(callerOf(call), subjectOf(call), call.body),
      revokeReviewLink: (call: Call<'revokeReviewLink'>) =>
        reviews.revokeLink(callerOf(call), subjectOf(call), call.params.id),
      createThread: (call: Call<'createThread'>) =>
        reviews.createThread(callerOf(call), subjectOf(call), call.body),
      addToThread: (call: Call<'addToThread'>) =>
        reviews.addToThread(callerOf(call), subjectOf(call), call.params.id, call.body),
      decideReview: (call: Call<'decideReview'>) =>
        reviews.decide(callerOf(call), subjectOf(call), call.body),
      reportPlacements: (call: Call<'reportPlacements'>) =>
        reviews.reportPlacements(callerOf(call), subjectOf(call), call.body),
      waitForReview: async (call: Call<'waitForReview'>) => {
        const { request, reply, caller, query } = call
        // A client that waits sends 144 an hour.
        if (caller.account) await chargeMessage(limits, request)
        else await charge(limits, request, reply, 'review')
        if (request.validationError) throw request.validationError
        const closed = new AbortController()
        reply.raw.once('close', () => closed.abort())
        return reviews.wait(callerOf(call), subjectOf(call), { since: query.since, signal: closed.signal })
      },
    }),
  } satisfies Partial<Handlers>
}

function subjectOf({ params }: { params: { slug: string; name?: string } }): ReviewSubject {
  return { slug: params.slug, previewName: params.name ?? '' }
}

function callerOf({ request }: Pick<Call<'openReview'>, 'request'>): ReviewCaller {
  const token = request.headers[REVIEW_TOKEN_HEADER]
  return { ...request.caller, reviewToken: typeof token === 'string' ? token : undefined }
}
