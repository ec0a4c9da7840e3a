import { MAX_REPORT_TEXT_LENGTH, REPORT_REASONS } from '../../../protocol/api/reports.ts'
import { bool, named, object, text } from './schema.ts'

export const reportRequest = named(
  'ReportRequest',
  object(
    {
      url: text('The address of a page of a site of this service', { minLength: 1, maxLength: 2000 }),
      reason: { type: 'string', enum: REPORT_REASONS, description: 'What is wrong with the page' },
    },
    {
      text: text('What the operator should know', { maxLength: MAX_REPORT_TEXT_LENGTH }),
      email: text('Where the operator can ask you', { maxLength: 254, pattern: '^[^\\s<>@,]+@[^\\s<>@,]+$' }),
    },
  ),
)
export const reportReceived = named('ReportReceived', object({ received: bool('Always true') }))
