import type { FastifyInstance } from 'fastify'
import type { Log } from '../log.ts'

/** Bytes of a report that are read. */
const LARGEST = 16 * 1024

/** Reports that are logged in an hour: whoever sends more is no browser with a page of ours. */
const MOST_AN_HOUR = 100

const HOUR = 3_600_000

/** What is worth knowing of a report, and how much of it is kept. */
const FIELDS = ['document-uri', 'effective-directive', 'violated-directive', 'blocked-uri', 'source-file']
const LONGEST = 300

/**
 * Takes what browsers report when a page breaks its Content-Security-Policy (CSP level 3, `report-uri`): a fault of ours, or
 * an extension of theirs. Logged without the query of any address, which may hold a secret.
 */
export async function cspReports(
  app: FastifyInstance,
  { log, clock }: { log: Log; clock: () => number },
): Promise<void> {
  let hour = 0
  let taken = 0
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string', bodyLimit: LARGEST }, (_, body, done) =>
    done(null, body),
  )
  app.route({
    method: 'POST',
    url: '/_reports/csp',
    bodyLimit: LARGEST,
    schema: { hide: true },
    handler: async (request, reply) => {
      const now = Math.floor(clock() / HOUR)
      if (now !== hour) [hour, taken] = [now, 0]
      if (taken++ < MOST_AN_HOUR) log.warn('a page broke its content security policy', reported(request.body))
      return reply.code(204).send()
    },
  })
}

function reported(body: unknown): Record<string, unknown> {
  try {
    const report = (JSON.parse(String(body)) as Record<string, unknown>)['csp-report'] as Record<
      string,
      unknown
    >
    const said = FIELDS.map((name) => [name, report[name]] as const).filter(
      ([, value]) => typeof value === 'string',
    )
    return Object.fromEntries(
      said.map(([name, value]) => [name, String(value).split('?', 1)[0]!.slice(0, LONGEST)]),
    )
  } catch {
    return { unreadable: true }
  }
}
