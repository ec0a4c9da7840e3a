/** The sentence below the headline of the front page, for readers who are not signed in. */
export function frontLead(anonymousPublishing: boolean): string {
  const needed = anonymousPublishing ? 'No account needed.' : 'Sign in with your email address.'
  return `Publish a static site in seconds. ${needed}`
}
