import type { ReportReason } from '../../../../../protocol/api/reports.ts'

export type PageText = readonly [title: string, text: string]

interface FormText {
  title: string
  text: string
  button: string
}

export interface VisitorTexts {
  siteNotFound: PageText
  siteNotPublished: PageText
  versionNotFound: PageText
  pageNotFound: PageText
  siteExpired: PageText
  badRequest: PageText
  misdirected: PageText
  methodNotAllowed: PageText
  preconditionFailed: PageText
  rangeNotSatisfiable: PageText
  internalError: PageText
  unavailable: PageText
  unreadableForm: PageText
  siteSuspended: PageText
  fileBlocked: PageText
  homePage: string
  reportAbuse: string
  terms: string
  imprint: string
  contactOperator: string
  /** Before the pages of an anonymous site; the text with `{service}`, a host name. */
  anonymousNotice: FormText
  passwordRequired: PageText
  password: {
    label: string
    button: string
    missing: string
    wrong: string
    /** With `{minutes}`, a number from 1, before an abbreviation that has no plural. */
    tooManyAttempts: string
  }
  report: FormText & {
    url: string
    reason: string
    reasons: Record<ReportReason, string>
    details: string
    email: string
    invalid: string
    refused: string
  }
  reportReceived: PageText
  files: {
    title: string
    /** With `{count}`, a number from 2, and `{size}`. */
    count: string
    open: string
    download: string
  }
}
