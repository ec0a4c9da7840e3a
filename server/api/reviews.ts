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
      getReview: (call: Call<'getReview'>) => reviews.get(...about(call), call.query),
      createReviewLink: (call: Call<'createReviewLink'>) => reviews.createLink(...about(call), call.body),
      revokeReviewLink: (call: Call<'revokeReviewLink'>) =>
        reviews.revokeLink(...about(call), call.params.id),
      createThread: (call: Call<'createThread'>) => reviews.createThread(...about(call), call.body),
      addToThread: (call: Call<'addToThread'>) =>
        reviews.addToThread(...about(call), call.params.id, call.body),
      decideReview: (call: Call<'decideReview'>) => reviews.decide(...about(call), call.body),
      reportPlacements: (call: Call<'reportPlacements'>) =>
        reviews.reportPlacements(...about(call), call.body),
      waitForReview: async (call: Call<'waitForReview'>) => {
        const { request, reply, caller, query } = call
        // A client that waits sends 144 an hour.
        if (caller.account) await chargeMessage(limits, request)
        else await charge(limits, request, reply, 'review')
        if (request.validationError) throw request.validationError
        const closed = new AbortController()
        reply.raw.once('close', () => closed.abort())
        return reviews.wait(...about(call), { since: query.since, signal: closed.signal })
      },
    }),
  } satisfies Partial<Handlers>
}

function about(
  call: Pick<Call<'openReview'>, 'request'> & { params: { slug: string; name?: string } },
): [ReviewCaller, ReviewSubject] {
  const { slug, name = '' } = call.params
  return [callerOf(call), { slug, previewName: name }]
}

function callerOf({ request }: Pick<Call<'openReview'>, 'request'>): ReviewCaller {
  const token = request.headers[REVIEW_TOKEN_HEADER]
  return { ...request.caller, reviewToken: typeof token === 'string' ? token : undefined }
}
