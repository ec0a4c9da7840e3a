import { MAX_REPORT_TEXT_LENGTH, REPORT_REASONS } from './reports.ts'
import { constant, named, type Static, text } from './schema.ts'

export const reportRequest = named(
  'ReportRequest',
  {
    url: text('The address of a page of a site of this service', { minLength: 1, maxLength: 2000 }),
    reason: text('What is wrong with the page', { enum: REPORT_REASONS }),
  },
  {
    text: text('What the operator should know', { maxLength: MAX_REPORT_TEXT_LENGTH }),
    email: text('An email address, where the operator can ask you', {
      maxLength: 254,
      pattern: '^[^\\s<>@,]+@[^\\s<>@,]+$',
    }),
  },
)
export type ReportRequest = Static<typeof reportRequest>

export const reportReceived = named('ReportReceived', { received: constant(true, 'Always true') })
export type ReportReceived = Static<typeof reportReceived>
