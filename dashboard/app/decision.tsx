import type { Action } from '../api/action.ts'
import { Button } from '../kit/button.tsx'
import { ErrorNotice } from '../kit/notice.tsx'

/** The buttons that allow or deny what a program asks for, and the error of the decision. */
export function Decision({ decide }: { decide: Action<[allow: boolean]> }) {
  return (
    <>
      <ErrorNotice error={decide.error} />
      <div class="choices">
        <Button variant="main" busy={decide.busy} onClick={() => decide(true)}>
          Allow
        </Button>
        <Button busy={decide.busy} onClick={() => decide(false)}>
          Deny
        </Button>
      </div>
    </>
  )
}
