import type { ReportReason } from '../../../../../protocol/api/reports.ts'

/** Heading and text of a page. */
export interface PageText {
  title: string
  text: string
}

/** The texts of the pages that the service shows to visitors, in one language. */
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
  /** The link from a page that does not exist. */
  homePage: string
  /** The link from every page to the form for reports. */
  reportAbuse: string
  /** The links from every page to documents of the operator. */
  terms: string
  imprint: string
  contactOperator: string
  /** Before the pages of an anonymous site; the text with `{service}`, a host name. */
  anonymousNotice: PageText & { button: string }
  password: PageText & {
    label: string
    button: string
    missing: string
    wrong: string
    /** With `{minutes}`, a number from 1, before an abbreviation that has no plural. */
    tooManyAttempts: string
  }
  /** The form that reports a page. */
  report: PageText & {
    /** Labels of the fields. */
    url: string
    reason: string
    reasons: Record<ReportReason, string>
    details: string
    email: string
    button: string
    /** Before the labels of the fields that are wrong. */
    invalid: string
    refused: string
  }
  reportReceived: PageText
  /** The pages that show the files of a site without a start page. */
  files: {
    title: string
    /** With `{count}`, a number from 2, and `{size}`. */
    count: string
    open: string
    download: string
  }
}
