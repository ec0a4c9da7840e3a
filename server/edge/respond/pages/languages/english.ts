type Translated<Texts> = {
  readonly [Name in keyof Texts]: Texts[Name] extends string ? string : Translated<Texts[Name]>
}

/** The texts of a language; those of a page are its title and a sentence. */
export type VisitorTexts = Translated<typeof ENGLISH>

export const ENGLISH = {
  siteNotFound: ['Site not found', 'Check the address for typos.'],
  siteNotPublished: ['Site not published yet', "Its first version isn't complete. Please try again later."],
  versionNotFound: [
    'Version not found',
    'This version of the site was never completed, or it has been deleted.',
  ],
  pageNotFound: ['Page not found', 'Check the address, or start from the home page.'],
  siteExpired: ['This site has expired', 'It was published for a limited time.'],
  badRequest: ['Bad request', 'The address or the request is malformed.'],
  misdirected: ['Misdirected request', 'This connection belongs to another site. Please reload the page.'],
  methodNotAllowed: ['Method not allowed', "This address doesn't support that kind of request."],
  preconditionFailed: ['Precondition failed', 'The file has changed.'],
  rangeNotSatisfiable: ['Range not satisfiable', 'The requested part is beyond the end of the file.'],
  internalError: [
    'Something went wrong',
    "The server couldn't complete the request. Please try again later.",
  ],
  unavailable: ['Temporarily unavailable', 'Please try again in a moment.'],
  unreadableForm: ['Form not readable', 'Please go back and enter the password again.'],
  siteSuspended: ['This site is suspended', 'The operator of this service has taken it offline.'],
  fileBlocked: ['File blocked', 'The operator of this service has blocked this file.'],
  homePage: 'Go to the home page',
  reportAbuse: 'Report abuse',
  terms: 'Terms',
  imprint: 'Imprint',
  contactOperator: 'Contact the operator',
  /** Before the pages of an anonymous site; the text with `{service}`, a host name. */
  anonymousNotice: {
    title: 'This site is not verified',
    text: 'It was published without an account on {service}. Do not enter passwords or payment details unless you know who published it.',
    button: 'Continue to the site',
  },
  passwordRequired: ['This site is password-protected', 'Ask its owner for the password.'],
  password: {
    label: 'Password',
    button: 'Open site',
    missing: 'Enter the password.',
    wrong: 'Incorrect password. Please try again.',
    /** With `{minutes}`, a number from 1, before an abbreviation that has no plural. */
    tooManyAttempts: 'Too many incorrect passwords. Try again in {minutes} min.',
  },
  report: {
    title: 'Report a page',
    text: 'The operator of this service receives your report.',
    url: 'Address of the page',
    reason: 'What is wrong with it?',
    reasons: {
      phishing: 'It asks for passwords or payment details by deception',
      malware: 'It spreads malware',
      illegal: 'Its content is illegal',
      copyright: 'It violates my copyright',
      other: 'Something else',
    },
    details: 'Details',
    email: 'Your email address, if the operator may ask you',
    button: 'Send report',
    invalid: 'Please check these fields:',
    refused: 'The report was not accepted. Please try again later.',
  },
  reportReceived: ['Report received', 'Thank you. The operator will look into it.'],
  /** With `{count}`, a number from 2, and `{size}`. */
  files: { title: 'Files', count: '{count} files, {size}', open: 'Open', download: 'Download' },
} as const
