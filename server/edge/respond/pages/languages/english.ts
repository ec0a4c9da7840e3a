import type { VisitorTexts } from './visitor-texts.ts'

export const ENGLISH: VisitorTexts = {
  siteNotFound: { title: 'Site not found', text: 'Check the address for typos.' },
  siteNotPublished: {
    title: 'Site not published yet',
    text: "Its first version isn't complete. Please try again later.",
  },
  versionNotFound: {
    title: 'Version not found',
    text: 'This version of the site was never completed, or it has been deleted.',
  },
  pageNotFound: { title: 'Page not found', text: 'Check the address, or start from the home page.' },
  siteExpired: { title: 'This site has expired', text: 'It was published for a limited time.' },
  badRequest: { title: 'Bad request', text: 'The address or the request is malformed.' },
  misdirected: {
    title: 'Misdirected request',
    text: 'This connection belongs to another site. Please reload the page.',
  },
  methodNotAllowed: {
    title: 'Method not allowed',
    text: "This address doesn't support that kind of request.",
  },
  preconditionFailed: { title: 'Precondition failed', text: 'The file has changed.' },
  rangeNotSatisfiable: {
    title: 'Range not satisfiable',
    text: 'The requested part is beyond the end of the file.',
  },
  internalError: {
    title: 'Something went wrong',
    text: "The server couldn't complete the request. Please try again later.",
  },
  unavailable: { title: 'Temporarily unavailable', text: 'Please try again in a moment.' },
  unreadableForm: { title: 'Form not readable', text: 'Please go back and enter the password again.' },
  siteSuspended: {
    title: 'This site is suspended',
    text: 'The operator of this service has taken it offline.',
  },
  fileBlocked: { title: 'File blocked', text: 'The operator of this service has blocked this file.' },
  homePage: 'Go to the home page',
  reportAbuse: 'Report abuse',
  terms: 'Terms',
  imprint: 'Imprint',
  contactOperator: 'Contact the operator',
  anonymousNotice: {
    title: 'This site is not verified',
    text: 'It was published without an account on {service}. Do not enter passwords or payment details unless you know who published it.',
    button: 'Continue to the site',
  },
  password: {
    title: 'This site is password-protected',
    text: 'Ask its owner for the password.',
    label: 'Password',
    button: 'Open site',
    missing: 'Enter the password.',
    wrong: 'Incorrect password. Please try again.',
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
  reportReceived: { title: 'Report received', text: 'Thank you. The operator will look into it.' },
  files: { title: 'Files', count: '{count} files, {size}', open: 'Open', download: 'Download' },
}
