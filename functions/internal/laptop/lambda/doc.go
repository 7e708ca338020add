// Package lambda is the laptop's stand-in for Lambda and for the two services that invoke it
// in the background: SNS (Topics) and a CloudWatch Logs subscription (Subscription).
//
// A function has what bounds it in AWS: reserved concurrency, without a queue, and a timeout
// after which its answer is thrown away. It runs in this process, so it is not frozen between
// calls, its memory is not limited, and what it leaves running after its timeout goes on.
package lambda
