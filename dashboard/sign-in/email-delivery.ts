import { settings } from '../api/settings.ts'

/** Whether sign-in codes are emailed. */
export const sendsEmails = settings.mail === 'smtp'

export const NO_EMAIL =
  'This server has no email configured. The operator finds the code in the terminal or the log of the service.'
