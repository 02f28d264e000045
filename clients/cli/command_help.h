// The words of --help.
#ifndef PHYLLO_CLIENTS_CLI_COMMAND_HELP_H_
#define PHYLLO_CLIENTS_CLI_COMMAND_HELP_H_

namespace phyllo {

struct CommandHelp {
  const char* summary;
  const char* usage;
  const char* examples;
};

inline constexpr char kMainFooter[] = R"(Examples:
  phyllo run "Once upon a time"            the demo model goes on
  phyllo run ~/models/Qwen3-0.6B --chat "Why is the sky blue?"
  phyllo chat                              a conversation with the demo model
  phyllo up ~/models/Qwen3-0.6B            serves it to other programs until Ctrl-C
  phyllo COMMAND --help                    more

Exit codes:
  0    success
  1    an error not listed here
  2    the command line or the request is wrong
  3    try later: no server there, overload, or out of time
  4    the model cannot be loaded
  130  interrupted with Ctrl-C)";

inline constexpr CommandHelp kRunHelp = {
    "starts the services for a model, answers one prompt, and stops them",
    "Usage: phyllo run [OPTIONS] [MODEL] PROMPT\n\nMODEL is a Hugging Face model folder; without "
    "it, the demo model answers. PROMPT is continued as it "
    "stands;\n--chat asks it as a user would. \"-\" reads PROMPT from standard input.",
    R"(Examples:
  phyllo run "Once upon a time"
  phyllo run --chat "Tell me a story about a fox named Pip."
  phyllo run ~/models/Qwen3-0.6B "The capital of France is" --temperature 0 --max-new-tokens 20
  phyllo run --json --seed 7 "Once upon a time" | jq -r '.choices[0].answer.text'
  cat letter.txt | phyllo run --chat -)"};

inline constexpr CommandHelp kChatHelp = {
    "talks with a model, turn by turn",
    "Usage: phyllo chat [OPTIONS] [MODEL]\n\nWithout MODEL the demo model answers. /help lists "
    "what can be typed beside text; Ctrl-C stops an answer, /exit or "
    "Ctrl-D the program.\nWhen standard input is a pipe, each line is a turn.",
    R"(Examples:
  phyllo chat
  phyllo chat ~/models/Qwen3-0.6B --system "Answer in one sentence." --temperature 0.6
  phyllo chat --address 127.0.0.1:50050)"};

inline constexpr CommandHelp kUpHelp = {
    "starts the services for a model and serves until Ctrl-C",
    "Usage: phyllo up [OPTIONS] [MODEL]\n\nWithout MODEL the demo model is served. Prints the "
    "addresses when everything is ready. A service that dies is\nstarted again at its address.",
    R"(Examples:
  phyllo up
  phyllo up ~/models/Qwen3-0.6B --address 0.0.0.0:50050 --precision int8,kv_cache=int8
  phyllo up --address 127.0.0.1:0 --json)"};

inline constexpr CommandHelp kGenerateHelp = {
    "answers prompts through a running gateway",
    "Usage: phyllo generate [OPTIONS] PROMPT\n       phyllo generate [OPTIONS] --ids IDS\n       "
    "phyllo generate [OPTIONS] --json-lines < REQUESTS\n\nA line "
    "of REQUESTS is a phyllo.gateway.v1.GenerateRequest as JSON; what it leaves open comes from "
    "the options.\nThe answers come in the same order, one JSON "
    "object a line, {\"error\": ...} for a request that failed.",
    R"(Examples:
  phyllo generate "Once upon a time" --top-k 20 --seed 7
  phyllo generate --ids 1,1108,13 --max-new-tokens 32
  echo '{"text": "Once upon a time", "sampling": {"temperature": 0}}' | phyllo generate --json-lines)"};

inline constexpr CommandHelp kEmbedHelp = {
    "gives the vectors of texts",
    "Usage: phyllo embed [OPTIONS] TEXT...\n       phyllo embed [OPTIONS] --file FILE [--lines]\n"
    "       phyllo embed [OPTIONS] --ids IDS\n       phyllo embed [OPTIONS] --json-lines < "
    "REQUESTS\n\n"
    "Every TEXT gives one vector, a line of numbers in the order of the texts. Works with every "
    "model; "
    "the vector is the\nlast token's unless the model's folder (1_Pooling/config.json) or "
    "--pooling "
    "says otherwise, and of length 1 unless\n--no-normalize. A line of REQUESTS is a "
    "phyllo.gateway.v1.EmbedRequest as JSON.",
    R"(Examples:
  phyllo embed "a cat on a mat" "stock prices fell"
  phyllo embed --model ~/models/Qwen3-Embedding-0.6B --dimensions 256 "a cat on a mat"
  phyllo embed --file sentences.txt --lines > vectors.txt
  phyllo embed --json "a cat" | jq '.vectors[0].values | length')"};

inline constexpr CommandHelp kClassifyHelp = {
    "gives the labels of texts, with a model that classifies",
    "Usage: phyllo classify [OPTIONS] TEXT...\n       phyllo classify [OPTIONS] --file FILE "
    "[--lines]\n"
    "       phyllo classify [OPTIONS] --ids IDS\n       phyllo classify [OPTIONS] --json-lines < "
    "REQUESTS\n\n"
    "For every TEXT the labels with their probabilities, most likely first, a blank line between "
    "texts. A reward or\nregression model has one label, whose value is shown as it is. Needs a "
    "*ForSequenceClassification model. A line of\nREQUESTS is a phyllo.gateway.v1.ClassifyRequest "
    "as "
    "JSON.",
    R"(Examples:
  phyllo classify --model ~/models/sentiment "I want my money back."
  phyllo classify --file reviews.txt --lines --json | jq '.classifications[].scores'
  phyllo classify --raw-logits "I want my money back.")"};

inline constexpr CommandHelp kScoreHelp = {
    "gives the log-probabilities of a text, and its perplexity",
    "Usage: phyllo score [OPTIONS] TEXT\n       phyllo score [OPTIONS] --file FILE\n"
    "       phyllo score [OPTIONS] --ids IDS\n       phyllo score [OPTIONS] --json-lines < "
    "REQUESTS\n\n"
    "One token a line: log-probability, rank among all tokens, and its bytes; then the sum. The "
    "first "
    "token has nothing\nbefore it and no score. With --continuation only the tokens of that text "
    "are "
    "scored: TEXT and continuation are\ntokenized as one text, and the first scored token is the "
    "first "
    "that is not among those of TEXT alone. A line of\nREQUESTS is a "
    "phyllo.gateway.v1.ScoreRequest as "
    "JSON.",
    R"(Examples:
  phyllo score "Once upon a time there was a fox."
  phyllo score "The capital of France is" --continuation " Paris"
  phyllo score --model ~/models/Qwen3-0.6B --file book.txt --summary
  phyllo score --top 3 --json "Once upon a time" | jq .summary.perplexity)"};

inline constexpr CommandHelp kTokenizeHelp = {
    "shows the token ids of a text",
    "Usage: phyllo tokenize [OPTIONS] TEXT\n\n\"-\" reads TEXT from standard input.",
    R"(Examples:
  phyllo tokenize "Once upon a time"
  phyllo tokenize --json - < story.txt
  phyllo tokenize --model ~/models/Qwen3-0.6B "Once upon a time")"};

inline constexpr CommandHelp kDetokenizeHelp = {"shows the text of token ids",
                                                "Usage: phyllo detokenize [OPTIONS] ID...",
                                                R"(Examples:
  phyllo detokenize 1412 1403 1074 1270
  phyllo detokenize 1412,1403,1074,1270 --special-tokens)"};

inline constexpr CommandHelp kInspectHelp = {
    "shows the structure of a model: layers, shapes, parameters, bytes",
    "Usage: phyllo inspect [OPTIONS] [MODEL]\n\nReads the model folder; no services are needed. "
    "Without MODEL the demo model is shown.",
    R"(Examples:
  phyllo inspect
  phyllo inspect ~/models/Qwen3-0.6B --all-layers
  phyllo inspect --json | jq .parameter_count)"};

inline constexpr CommandHelp kBenchHelp = {
    "measures a server under load, or the model in this process",
    R"(Usage: phyllo bench --address ADDRESS [OPTIONS]
       phyllo bench --serve [--model MODEL] [OPTIONS]
       phyllo bench [--model MODEL] [-p N,...] [-n N,...] [-b N,...] [-r N] [OPTIONS]

The first two put a load on a server (--serve alone: the one at the default address; with --model: services that
are started for it) and report the time to the first token, the latency between tokens, throughput and errors.
A closed loop keeps --concurrency requests under way; with --request-rate, an open loop, requests begin at random
times (a Poisson process), however slow the answers are, and are measured from the time they were due.

The last form runs MODEL in this process, as llama-bench does: prefill of -p tokens, decode of -n tokens in batches
of -b; the median of -r repetitions, and the least and greatest.

Prompts are random token ids, answers are greedy and as long as asked for, unless options say otherwise. LENGTHS is
N, uniform:LOW,HIGH, lognormal:MEDIAN,SIGMA,MAX or list:A,B,...

"inter-token latency" is the time between two messages with tokens as they arrive here, "time per output token" the
mean of a request; they differ when a message brings several tokens ("tokens a message").)",
    R"(Examples:
  phyllo bench --address 127.0.0.1:50050 --concurrency 8 --num-requests 64
  phyllo bench --address 127.0.0.1:50050 --request-rate 2 --duration 60s --prompt-tokens lognormal:256,0.8,2048
  phyllo bench --serve --model ~/models/Qwen3-0.6B --precision bf16 --turns 5 --shared-prefix-tokens 200 --json
  phyllo bench --model ~/models/Qwen3-0.6B --precision bf16 -p 512 -n 128 -b 1,8,32 -r 3 --bound)"};

inline constexpr CommandHelp kPsHelp = {"lists the servers behind a gateway",
                                        "Usage: phyllo ps [OPTIONS]",
                                        R"(Examples:
  phyllo ps
  phyllo ps --address 127.0.0.1:50050 --json)"};

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_COMMAND_HELP_H_
