import type { FastifyInstance } from 'fastify'
import { truncate } from '../../protocol/format.ts'
import { parseJsonObject } from '../lib/json-object.ts'
import type { Log } from '../lib/log.ts'
import { HOUR_MS } from '../lib/time.ts'
import { readBody } from './bodies.ts'

const MAX_REPORT_BYTES = 16 * 1024

const MAX_REPORTS_PER_HOUR = 100

const FIELDS = ['document-uri', 'effective-directive', 'violated-directive', 'blocked-uri', 'source-file']
const MAX_FIELD_LENGTH = 300

/**
 * CSP level 3, `report-uri`: caused by a fault of the page or by a browser extension. Logged without the query of any
 * URL, which may contain a secret.
 */
export async function cspReports(
  app: FastifyInstance,
  { log, clock }: { log: Log; clock: () => number },
): Promise<void> {
  let hour = 0
  let taken = 0
  app.addContentTypeParser('*', readBody)
  app.route({
    method: 'POST',
    url: '/_reports/csp',
    bodyLimit: MAX_REPORT_BYTES,
    handler: async (request, reply) => {
      const now = Math.floor(clock() / HOUR_MS)
      if (now !== hour) [hour, taken] = [now, 0]
      if (taken++ < MAX_REPORTS_PER_HOUR)
        log.warn('content security policy violation', reported(request.body))
      return reply.code(204).send()
    },
  })
}

function reported(body: unknown): Record<string, unknown> {
  const report = parseJsonObject(String(body))?.['csp-report'] as Record<string, unknown> | null | undefined
  if (!report) return { unreadable: true }
  const fields = FIELDS.flatMap((name) => {
    const value = report[name]
    return typeof value === 'string' ? [[name, truncate(value.split('?', 1)[0]!, MAX_FIELD_LENGTH)]] : []
  })
  return Object.fromEntries(fields)
}
