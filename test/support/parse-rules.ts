import { headerSteps } from '../../server/site-rules/parse/header-rule.ts'
import { redirectSteps } from '../../server/site-rules/parse/redirects-file.ts'
import { ruleSteps } from '../../server/site-rules/site-rules.ts'

export const parseRules = atOnce(ruleSteps)
export const parseHeaders = atOnce(headerSteps)
export const parseRedirects = atOnce(redirectSteps)

function atOnce<Text, Parsed>(steps: (text: Text) => Generator<void, Parsed>): (text: Text) => Parsed {
  return (text) => {
    const running = steps(text)
    for (;;) {
      const step = running.next()
      if (step.done) return step.value
    }
  }
}
