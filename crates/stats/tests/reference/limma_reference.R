# Reads `set id variance df covariate` lines and writes what limma makes of each set:
# `set id prior_df prior_variance posterior_variance`. A covariate of NA throughout means no trend.
#   Rscript limma_reference.R INPUT OUTPUT
suppressPackageStartupMessages(library(limma))
arguments <- commandArgs(TRUE)
input <- read.table(arguments[1], header = TRUE, colClasses = c("character", "integer", "numeric", "numeric", "numeric"))
output <- file(arguments[2], "w")
for (set in unique(input$set)) {
  part <- input[input$set == set, ]
  covariate <- if (all(is.na(part$covariate))) NULL else part$covariate
  squeezed <- squeezeVar(part$variance, part$df, covariate = covariate)
  prior <- rep_len(squeezed$var.prior, nrow(part))
  for (i in seq_len(nrow(part))) {
    cat(set, part$id[i], sprintf("%.17g", squeezed$df.prior), sprintf("%.17g", prior[i]),
        sprintf("%.17g", squeezed$var.post[i]), "\n", file = output)
  }
}
close(output)
